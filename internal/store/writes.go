package store

import (
	"time"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// Writes collects writes, and submits them to the commit queue at once. Where no write
// waits for the disk, each would otherwise have a commit of its own, and its own wait
// for memory. The zero value is empty. It is for one goroutine at a time.
type Writes struct {
	st  *Store
	all []*write
}

// Put adds what Collection.PutEncoded does. Submit calls done, or a later commit does;
// it also learns whether the put has replaced a feature of this id.
func (s *Writes) Put(c *Collection, id string, value []byte, expires int64, cond kv.Condition, done func(revision uint64, replaced bool, err error)) {
	s.PutAs(Name{}, c, id, value, expires, cond, done)
}

// PutAs is Put of a write that may be repeated.
func (s *Writes) PutAs(as Name, c *Collection, id string, value []byte, expires int64, cond kv.Condition, done func(revision uint64, replaced bool, err error)) {
	w := &write{as: as, coll: c, kind: disk.Put, id: id, value: value, cond: cond, expiry: time.Duration(expires)}
	w.done = func(revision uint64, err error) { done(revision, w.replaces && err == nil, err) }
	s.add(c.st, w)
}

// PutRecord adds what Records.Put does, with a value that AppendRecordValue has made and
// that belongs to the collection. Submit calls done, or a later commit does. as names a
// write that may be repeated.
func (s *Writes) PutRecord(as Name, c *Records, key string, value []byte, expires time.Duration, cond kv.Condition, done func(revision uint64, err error)) {
	w := c.write(disk.Put, key, cond)
	w.as, w.value, w.expiry, w.done = as, value, expires, done
	s.add(c.st, w)
}

// AppendRecord is PutRecord of what Records.Append does.
func (s *Writes) AppendRecord(as Name, c *Records, key string, value []byte, expires time.Duration, cond kv.Condition, done func(revision uint64, err error)) {
	w := c.write(disk.Put, key, cond)
	w.as, w.value, w.expiry, w.joins, w.done = as, value, expires, true, done
	s.add(c.st, w)
}

// DeleteRecord adds what Records.Delete does.
func (s *Writes) DeleteRecord(as Name, c *Records, key string, cond kv.Condition, done func(revision uint64, err error)) {
	w := c.write(disk.Delete, key, cond)
	w.as, w.done = as, done
	s.add(c.st, w)
}

func (s *Writes) add(st *Store, w *write) {
	if s.st != st {
		s.Submit()
		s.st = st
	}
	s.all = append(s.all, w)
}

// Len returns the number of writes.
func (s *Writes) Len() int { return len(s.all) }

// Submit queues all writes, in their order, and empties s.
func (s *Writes) Submit() {
	if len(s.all) == 0 {
		return
	}
	s.st.submit(s.all...)
	clear(s.all)
	s.all = s.all[:0]
}

// warm prefetches the memory that the writes of a batch look at first, so that their
// waits for it overlap.
func (q *commitQueue) warm(batch []*write) {
	for len(batch) > 0 {
		m, n := batch[0].target(), 0
		q.keys = q.keys[:0]
		for n < len(batch) && m != nil && batch[n].target() == m {
			q.keys = append(q.keys, batch[n].key)
			n++
		}
		if n > 1 {
			m.PrefetchKeys(q.keys, &q.many)
		}
		batch = batch[max(n, 1):]
	}
	clear(q.keys)
}
