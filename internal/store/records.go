package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// Kept records
//
// Readers find the records in a kv.Map, or in one for each shard, like those that are not
// kept. On disk a collection has one number, and each record is a key:
//
//	key    the record's
//	value  the record's | flags u16     little-endian
//
// Revision and expiry are the entry's. Shards are not on disk, but for their number: each
// process divides the keys by a seed of its own.
//
// Writes pass the commit queue (commit_queue.go), with those of features: their revisions
// are the store's, and readers see nothing that is not durable. The log has no old values,
// since records have no watchers. A record that has expired stays in the Map, unseen, until
// the commit leader has deleted it, which in a group the primary's does.

// recordsFormat is the format of a data directory with records.
const recordsFormat = 6

// recordFlag marks entries of records: watchers follow features, and skip these entries.
const recordFlag = 16

const recordsKind = "records"

// flagsBytes follow a record's value.
const flagsBytes = 2

// MaxRecordBytes is the largest value of a kept record.
const MaxRecordBytes = disk.MaxValueBytes - flagsBytes

// Records is a kept collection of records. All methods are safe for concurrent use.
type Records struct {
	st      *Store
	name    string
	num     uint32
	o       RecordsOptions
	shards  *Shards // nil: not divided
	maps    []*kv.Map
	dropped atomic.Bool

	shrinking atomic.Bool // shrinkSome waits, or runs

	expiredMu sync.Mutex
	expired   []expiredRecord
}

// expiredRecord names a record that has expired, and is to be deleted.
type expiredRecord struct {
	shard int
	expiredID
}

// recordsMetadata is that of a collection of records.
func recordsMetadata(o RecordsOptions) metadata {
	return metadata{Kind: recordsKind, Table: uint8(o.Table), Items: o.Items, Shards: o.Shards, MaxBytes: o.MaxBytes}
}

// records is the spec of a collection whose metadata is m.
func (m metadata) records() (Spec, error) {
	if m.Shards < 0 || m.Shards > MaxCollections {
		return Spec{}, fmt.Errorf("%w: records in %d shards, at most %d", ErrCorrupt, m.Shards, MaxCollections)
	}
	if m.MaxBytes < 0 {
		return Spec{}, fmt.Errorf("%w: records limited to %d bytes", ErrCorrupt, m.MaxBytes)
	}
	return Spec{Kind: KindRecords, Keep: true, Records: RecordsOptions{Table: cuckoo.Kind(m.Table), Items: m.Items, Shards: m.Shards, MaxBytes: m.MaxBytes}}, nil
}

// AppendRecordValue appends a record's value and flags as the log has them.
func AppendRecordValue(b, value []byte, flags uint16) []byte {
	return binary.LittleEndian.AppendUint16(append(b, value...), flags)
}

// cutRecordValue splits what AppendRecordValue has made, and trusts none of it.
func cutRecordValue(b []byte) (value []byte, flags uint16, err error) {
	n := len(b) - flagsBytes
	if n < 0 {
		return nil, 0, fmt.Errorf("%w: a record of %d bytes in the log, want %d or more", ErrCorrupt, len(b), flagsBytes)
	}
	return b[:n:n], binary.LittleEndian.Uint16(b[n:]), nil
}

// Name of the collection.
func (c *Records) Name() string { return c.name }

// Maps are those of the shards, in order, for reading. Only the store may write them.
func (c *Records) Maps() []*kv.Map { return c.maps }

// shardOf is the number of a key's shard.
func (c *Records) shardOf(key []byte) int {
	if c.shards == nil {
		return 0
	}
	return kv.ShardOf(c.shards.Seed, key, len(c.maps))
}

// Of returns the Map of a key, for reading.
func (c *Records) Of(key []byte) *kv.Map { return c.maps[c.shardOf(key)] }

// Len is the number of records, including those that have expired and are not removed
// yet.
func (c *Records) Len() (n int) {
	for _, m := range c.maps {
		n += m.Len()
	}
	return n
}

// build completes the options of a shard's Map. The revisions of its writes are the
// store's.
func (c *Records) build(shard int, o *kv.Options) {
	o.Revision = 0
	o.Expired = func(key []byte, revision uint64) {
		c.expiredMu.Lock()
		defer c.expiredMu.Unlock()
		c.expired = append(c.expired, expiredRecord{shard, expiredID{string(key), revision}})
	}
}

// deleteExpired deletes the records that the Maps have found expired.
func (c *Records) deleteExpired() {
	c.expiredMu.Lock()
	all := c.expired
	c.expired = nil
	c.expiredMu.Unlock()
	for _, x := range all {
		if !c.st.reads(x.id) {
			continue // The group that has it deletes it.
		}
		c.st.submit(&write{
			rec: c, m: c.maps[x.shard], kind: disk.Delete, id: x.id, expired: x.revision,
			done: func(uint64, error) {}, // It was written since, or will be tried again.
		})
	}
}

// entryOf is a record of the log, as a Map stores it.
func entryOf(key, value []byte, revision uint64, expiry int64) (kv.Entry, error) {
	value, flags, err := cutRecordValue(value)
	return kv.Entry{Key: key, Value: value, Flags: flags, Expiry: time.Duration(expiry), Revision: revision}, err
}

// restore loads the collection, by all processors.
func (c *Records) restore(ctx context.Context) error {
	st, began := c.st, time.Now()
	workers := cmp.Or(st.o.Workers, runtime.GOMAXPROCS(0))
	counts := make([]int, workers)
	err := st.db.Load(ctx, c.num, workers, func(w int, key, value []byte, revision uint64, expiry int64, _ uint16) error {
		e, err := entryOf(key, value, revision, expiry)
		if err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
		m := c.Of(key)
		ref, err := m.Stage(e)
		if err != nil {
			return err
		}
		counts[w]++
		return m.Publish(key, ref)
	})
	if err != nil {
		return err
	}
	n := 0
	for _, k := range counts {
		n += k
	}
	if n > 0 {
		st.o.Logger.Info("collection loaded", "collection", c.name, "records", n, "took", time.Since(began).Round(time.Millisecond))
	}
	return nil
}

// stage is prepareRecord without judgement: of an entry that the group has committed.
func (c *Records) stage(e *disk.Entry) (*write, error) {
	w := &write{rec: c, m: c.Of(e.Key), kind: e.Kind, id: string(e.Key), key: e.Key, revision: e.Revision}
	if e.Kind == disk.Delete {
		return w, nil
	}
	is, err := entryOf(e.Key, e.Value, e.Revision, e.Expiry)
	if err == nil {
		w.ref, err = w.m.Stage(is)
	}
	return w, err
}
