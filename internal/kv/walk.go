package kv

import (
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/record"
)

// walkPiece is the number of references that Walk gives at once, or a few more: the
// caller prefetches these before it reads them.
const walkPiece = 64

// Walk calls f with the references of all records, those that have expired included,
// each once, some at a time, and then calls end. It holds the writers' lock until end
// returns, so that a copy that end completes misses no change: other writes, Tidy and
// Grant wait, a second for 2,000,000 records if f reads them. f may call Read and
// Prefetch, no other methods. The first error of f or end is returned.
func (m *Map) Walk(f func([]record.Ref) error, end func() error) error {
	if err := m.lock(); err != nil {
		return err
	}
	defer m.mu.Unlock()
	var refs []record.Ref
	add := func(_, ref uint64) { refs = append(refs, record.Ref(ref)) }
	var err error
	for c := (cuckoo.Cursor{}); !c.Done; {
		refs = refs[:0]
		if c, err = m.index.Scan(c, walkPiece, add); err != nil {
			return err
		}
		if err := f(refs); err != nil {
			return err
		}
	}
	return end()
}
