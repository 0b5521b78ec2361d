package placement

import "github.com/catfish-index/catfish/internal/cuckoo"

// Slots is how many parts the ids of all features and records have. 64 groups have 64
// each, so that one is 1.6 % of a group's data; the table has a byte for each.
const Slots = 1 << slotBits

const slotBits = 12

// seed of the hash that chooses slots. Indexes and shards of a group use the same hash
// with random seeds of their own (kv.ShardOf): with this one, all ids of a slot would be
// in few shards and buckets. It is fixed for ever, as slots are. The value is the first 64
// bits of pi's fraction.
const seed = 0x243F6A8885A308D3

// hashOf an id. The collection does not count: what has the same id is in the same group.
func hashOf(id []byte) uint64 { return cuckoo.Hash(seed, id) }

// SlotOf returns the slot of an id, below Slots: the top 12 bits of its hash.
func SlotOf(id []byte) uint16 { return uint16(hashOf(id) >> (64 - slotBits)) }

// Index is the number of a group in a map.
type Index uint8

// Placer says which group has an id.
type Placer interface{ Of(id []byte) Index }
