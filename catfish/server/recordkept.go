package server

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
)

// Records that are kept, at the server
//
// Such a collection is the store's (store.Records), in memory that clients may read. Reads
// are those of any collection of records, by message and by offloading. Writes are tasks,
// which reply when the commit leader has made them durable; those of one connection pass
// the commit queue in the order of their arrival.

// CreateKeptRecords adds a collection of records that is kept in the data directory, unless
// there is one of that name, and returns it, for use in this process concurrently with
// remote clients. ErrNotPermitted: there is no data directory. ErrNotReady: the directory
// is being loaded. ErrKind, store.ErrCollectionExists: there is one of another kind, or one
// that is not kept.
func (s *Server) CreateKeptRecords(name string, o model.RecordsOptions) (*KeptRecords, error) {
	o.Keep = true
	c, err := s.createRecords(name, o)
	if err != nil {
		return nil, err
	}
	return c.Kept, nil
}

// KeptRecords returns a collection of records that is kept. ErrKind: the collection is of
// another kind, or not kept.
func (s *Server) KeptRecords(name string) (*KeptRecords, error) {
	c, err := s.store.Lookup(name)
	if err != nil {
		return nil, err
	}
	if c.Kept == nil {
		return nil, fmt.Errorf("%w: %q is one of %s, and not of records that are kept", model.ErrKind, name, c.Kind)
	}
	return c.Kept, nil
}

// errKept is for a caller that would write a kept collection without the store.
func errKept(name string) error {
	return fmt.Errorf("%w: records %q are kept, and written by Server.KeptRecords alone", model.ErrNotPermitted, name)
}

// recordWrite is a put, append or remove of a record that is kept.
type recordWrite struct {
	task
	c      *collection
	name   store.Name
	remove bool
	joins  bool // an append
	key    string
	value  []byte // of a put, with flags
	expiry time.Duration
	cond   kv.Condition
}

// putKept returns the task of a put or append. If the value came in parts, e has their number.
func (v *service) putKept(from *peer, c *collection, e *kv.Entry, cond kv.Condition, parts, joins bool) (*task, error) {
	w := &recordWrite{c: c, name: v.name, joins: joins, key: string(e.Key), expiry: e.Expiry, cond: cond}
	if parts {
		body, err := from.uploads.bodyOf(c, e.Value)
		if err != nil {
			return nil, err
		}
		w.value = store.AppendRecordValue(body, nil, e.Flags)
	} else {
		w.value = store.AppendRecordValue(make([]byte, 0, len(e.Value)+2), e.Value, e.Flags)
	}
	w.task = task{s: v.s, keeps: len(w.key) + len(w.value), starts: w}
	return &w.task, nil
}

// removeKept returns the task of a remove.
func (v *service) removeKept(c *collection, key []byte, cond kv.Condition) *task {
	w := &recordWrite{c: c, name: v.name, remove: true, key: string(key), cond: cond}
	w.task = task{s: v.s, keeps: len(w.key), starts: w}
	return &w.task
}

// start adds the write to those of the turn.
func (w *recordWrite) start(turn *store.Writes) {
	if w.remove {
		turn.DeleteRecord(w.name, w.c.Kept, w.key, w.cond, func(_ uint64, err error) { w.reply(nil, goneOr(w.c, err)) })
		return
	}
	put := turn.PutRecord
	if w.joins {
		put = turn.AppendRecord
	}
	put(w.name, w.c.Kept, w.key, w.value, w.expiry, w.cond, func(revision uint64, err error) {
		w.reply(binary.LittleEndian.AppendUint64(nil, revision), goneOr(w.c, err))
	})
}
