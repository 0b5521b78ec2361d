package kv

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/catfish-index/catfish/cuckoo"
	"github.com/catfish-index/catfish/record"
)

// Buffer is what Get needs besides the Map, for one goroutine at a time. The zero
// value is ready.
type Buffer struct {
	refs   []uint64
	record []byte
	of     *gate
	stripe stripe
}

// Get returns the key's record and its reference, without a lock. The View is good
// until the buffer is used again. ErrNotFound: there is none.
//
// A record that has died since the index led to it is taken all the same, since it
// was the key's when Get looked (record/readers.go). One whose place is used again
// by then, or torn, comes of a Get that was stopped for a second: it looks again.
func (m *Map) Get(key []byte, b *Buffer) (record.View, record.Ref, error) {
	if err := m.gate.enter(&b.of, &b.stripe); err != nil {
		return record.View{}, 0, err
	}
	defer b.stripe.leave()
	hash := cuckoo.Hash(m.seed, key)
	for {
		from := m.now()
		b.refs = m.index.Lookup(b.refs[:0], hash)
		late := false
		for _, ref := range b.refs {
			var v record.View
			var err error
			v, b.record, err = m.heap.Read(record.Ref(ref), key, b.record)
			switch {
			case err == nil, errors.Is(err, record.ErrDead):
				now := m.now()
				if late = now-from >= record.DefaultGrace; late {
					continue
				}
				if expired(v.Expiry, now) {
					return record.View{}, 0, notFound(key)
				}
				return v, record.Ref(ref), nil
			case errors.Is(err, record.ErrOtherKey):
			case errors.Is(err, record.ErrStale):
				late = true
			default:
				return record.View{}, 0, fmt.Errorf("kv: %q: %w", key, err)
			}
		}
		if !late {
			return record.View{}, 0, notFound(key)
		}
		runtime.Gosched()
	}
}

func notFound(key []byte) error { return fmt.Errorf("%w: %q", ErrNotFound, key) }
