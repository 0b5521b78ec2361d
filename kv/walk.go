package kv

import (
	"github.com/catfish-index/catfish/cuckoo"
	"github.com/catfish-index/catfish/record"
)

// walkPiece is how many references Walk gives at once, or a few more: what a caller
// asks for ahead of reading it.
const walkPiece = 64

// Walk gives f the references of all records, those that have expired included, each
// once, some at a time, and then calls end. The writers' lock is held until that
// returns, so that what end makes of them misses no change: other writes, Tidy and
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
