package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/rstar"
)

// Features in memory
//
// A set is a kv.Map of features by id, and a tree of their boxes. Both lead to the same
// records:
//
//	id  --hash--> key index --reference--.
//	                                      >--> | id | geometry | properties |
//	area -------> tree -------reference--'
//
// A write stages the record, and then publishes it: the key index leads to it, then the
// tree (follow), then the record before is dead. Readers take no lock. A reader that
// took a reference out of the tree can read the record for a second
// (internal/record/readers.go), and then has the feature as it was at a moment of the search.
type set struct {
	space feature.Space
	m     *kv.Map
	tree  *rstar.Tree
	now   func() time.Duration
	owned *atomic.Pointer[slots] // Store.owned

	schema  schema
	changes changes

	// loading: the tree will be loaded later, and follow only counts (fill.go). It
	// changes in the commit leader, from true under the Map's lock, too.
	loading   bool
	restoring bool         // no other goroutine uses the set yet, and follow does nothing
	toLoad    atomic.Int64 // boxes
	nowhere   atomic.Int64 // features without a geometry (nowhere.go)
	loadRoom  int          // the number of boxes for which there is room

	expiredMu sync.Mutex
	expired   []expiredID

	// Under the Map's lock.
	buf      kv.Buffer
	old, new []rstar.Item
	boxes    []feature.Box
}

// follow makes the tree lead to another record. The Map calls it (kv.Options.Follow).
func (s *set) follow(from, to record.Ref) (err error) {
	if s.restoring {
		return nil
	}
	var before, after uint64
	if s.old, before, err = s.items(s.old[:0], from); err != nil {
		return err
	}
	if s.new, after, err = s.items(s.new[:0], to); err != nil {
		return err
	}
	// Searches after the change of the tree must see the new count.
	more := countNowhere(s.space, s.old, s.new)
	s.nowhere.Add(max(0, more))
	defer func() {
		if less := min(0, more); err == nil {
			s.nowhere.Add(less)
		}
	}()
	revision, written := s.changes.revisionOf(from, to, before, after)
	if s.loading {
		s.toLoad.Add(int64(len(s.new) - len(s.old)))
		if written {
			s.changes.unseen = revision
		}
		return nil
	}
	replace := func() error {
		ok, err := s.tree.Replace(s.old, s.new)
		if err == nil && !ok {
			err = fmt.Errorf("%w: the tree has not what the index has: %v", ErrCorrupt, from)
		}
		return err
	}
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	if !written {
		return replace()
	}
	return s.changes.around(revision, s.old, s.new, replace)
}

// items appends the tree entries of a record, and returns its revision; none for ref 0.
func (s *set) items(dst []rstar.Item, ref record.Ref) (_ []rstar.Item, revision uint64, err error) {
	if ref == 0 {
		return dst, 0, nil
	}
	v, err := s.m.Read(ref, &s.buf)
	if err != nil && !errors.Is(err, record.ErrDead) {
		return dst, 0, err
	}
	f, err := feature.Open(v.Value)
	if err != nil {
		return dst, 0, err
	}
	return s.itemsOf(dst, &f, ref, &s.boxes), v.Revision, nil
}

// newSet makes an empty set.
func newSet(st *Store, space feature.Space, mem *[parts]Memory) (*set, error) {
	s := &set{space: space, now: st.now, owned: &st.owned}
	s.changes.space, s.changes.last = space, st.last.Load()
	tree := &mem[TreePart]
	var err error
	s.tree, err = rstar.New(rstar.Options{NodeBytes: st.o.NodeBytes, Memory: tree.Bytes, Grow: tree.Grow, BootID: st.boot})
	if err != nil {
		return nil, err
	}
	o := mapOptions(st, mem)
	o.Follow, o.Expired = s.follow, s.hasExpired
	s.m, err = kv.New(o)
	return s, err
}

// hasExpired is called by the Map while it tidies.
func (s *set) hasExpired(id []byte, revision uint64) {
	s.expiredMu.Lock()
	defer s.expiredMu.Unlock()
	s.expired = append(s.expired, expiredID{string(id), revision})
}

// expiredID names a feature that has expired, and is to be deleted.
type expiredID struct {
	id       string
	revision uint64
}

// takeExpired returns the expired features, and forgets them.
func (s *set) takeExpired() []expiredID {
	s.expiredMu.Lock()
	defer s.expiredMu.Unlock()
	all := s.expired
	s.expired = nil
	return all
}
