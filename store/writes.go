package store

import (
	"time"

	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/store/disk"
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
	if s.st != c.st {
		s.Submit()
		s.st = c.st
	}
	w := &write{coll: c, kind: disk.Put, id: id, value: value, cond: cond, expiry: time.Duration(expires)}
	w.done = func(revision uint64, err error) { done(revision, w.replaces && err == nil, err) }
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
		c, n := batch[0].coll, 0
		q.keys = q.keys[:0]
		for n < len(batch) && batch[n].box == nil && batch[n].coll == c {
			q.keys = append(q.keys, batch[n].key)
			n++
		}
		if n > 1 {
			c.set.m.PrefetchKeys(q.keys, &q.many)
		}
		batch = batch[max(n, 1):]
	}
	clear(q.keys)
}
