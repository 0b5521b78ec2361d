package kv

import (
	"math/bits"

	"github.com/catfish-index/catfish/internal/cuckoo"
)

// ShardOf returns which of n shards, each a Map, has a key. Servers, clients and stores use
// the same function.
func ShardOf(seed uint64, key []byte, n int) int {
	hi, _ := bits.Mul64(cuckoo.Hash(seed, key), uint64(n))
	return int(hi)
}
