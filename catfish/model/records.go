package model

import (
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
)

// A collection of records is a kv.Map in two slabs, so that either grows without
// the other:
//
//	index     | header | stash | tables ...                     cuckoo
//	records   | header | span | span | ...                      record
//
// Clients read both; Store.Tidy does the background work.

// RecordsOptions configure a collection of records. The zero value is good.
type RecordsOptions struct {
	// Table is how the key index makes room: cuckoo.GCuckoo, or
	// cuckoo.Conventional to compare with.
	Table TableKind `json:"table"`
	// Items is how many items a bucket of the key index has, 1 to
	// cuckoo.MaxItems, 0: that. The paper's table (RHKV) has one.
	Items int `json:"items,omitempty"`
	// Shards, up to MaxShards, divide the keys (Shards, in stats.go). 0, 1: not divided.
	Shards int `json:"shards,omitempty"`
	// MaxBytes, if not 0, makes the collection a cache: it is the limit of its records' bytes,
	// each its header, key and value in lines of 64, and a put evicts others, by second
	// chance. At most half of the server's SlabBytes; each shard has an equal part,
	// 64 KiB at least. In a cluster each group has a limit of its own.
	MaxBytes int64 `json:"max_bytes,omitempty"`
	// Keep stores the collection in the server's data directory (ErrNotPermitted: the
	// server has none): each write is durable when it is acknowledged, as far as
	// ServerOptions.Sync says, and the records exist again after a restart. A server
	// that is a member of a group keeps all records. The revisions of a kept collection
	// are those of the server's store, in which all collections share one number.
	Keep bool `json:"keep,omitempty"`
}

// Validate returns ErrOption for a value outside its range.
func (o *RecordsOptions) Validate() error {
	if o.Table != cuckoo.GCuckoo && o.Table != cuckoo.Conventional {
		return fmt.Errorf("%w: key index of kind %v, want %v or %v: clients cannot read others",
			ErrOption, o.Table, cuckoo.GCuckoo, cuckoo.Conventional)
	}
	if o.Items < 0 || o.Items > cuckoo.MaxItems {
		return fmt.Errorf("%w: %d items a bucket, want 1 to %d", ErrOption, o.Items, cuckoo.MaxItems)
	}
	if o.Shards < 0 || o.Shards > MaxShards {
		return fmt.Errorf("%w: %d shards, want 0 to %d", ErrOption, o.Shards, MaxShards)
	}
	if least := minCacheBytes * int64(max(o.Shards, 1)); o.MaxBytes < 0 || o.MaxBytes > 0 && o.MaxBytes < least {
		return fmt.Errorf("%w: a cache of %d bytes in %d shards, want %d or more", ErrOption, o.MaxBytes, max(o.Shards, 1), least)
	}
	return nil
}

// minCacheBytes is the smallest limit of a cache, and of each of its shards.
const minCacheBytes = 64 << 10

// RecordsStats is the state of a collection of records.
type RecordsStats struct {
	MapStats
	Load      float64 `json:"load"` // of the key index, 0..1
	UsedBytes int64   `json:"used_bytes"`
	SlabBytes int64   `json:"slab_bytes"` // limit for the records; for the keys it is the same again
	// Shards are those of a divided collection. The other fields are sums over them
	// (the revision is the latest).
	Shards []ShardStats `json:"shards,omitempty"`
}

// Record is a value under a key. Keys have 1 to record.MaxKeyBytes bytes, values up
// to record.MaxValueBytes, or a 36th of the server's memory limit if that is less:
// the limit of what a client may put or get at a time, by message.
type Record struct {
	Key, Value []byte
	// Revision of the collection that this record was written with; 0: there
	// is no record.
	Revision uint64
	// Expires is when the record ceases to exist, by the server's clock; zero: never.
	Expires time.Time
	Flags   uint16 // the user's own
}

// ShardAt says which shard of a collection a key belongs to.
type ShardAt struct {
	Number int `json:"number"` // from 0 on
	Of     int `json:"of"`     // shards
	// Owner is the worker that requests about it are sent to, -1: any worker.
	Owner int `json:"owner"`
}
