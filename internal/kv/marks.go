package kv

import (
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/record"
)

const spanLines = record.SpanBytes / record.LineBytes

// marks has a bit for each place of records: the record there was used since the hand of
// the cache came to it. The bits are not in the records: a Get that sets one takes no lock,
// and the place may have another record by then, or be the middle of one. Here the
// worst is a mark of the wrong record.
type marks struct {
	spans []atomic.Pointer[spanMarks] // nil: no record lay there yet
}

// spanMarks are those of a span, by the line in which a place begins.
type spanMarks [spanLines / 64]atomic.Uint64

func newMarks(slabBytes int) marks {
	return marks{make([]atomic.Pointer[spanMarks], slabBytes/record.SpanBytes)}
}

// at is the word of a place, nil: it has none yet.
func (m *marks) at(ref record.Ref) (word *atomic.Uint64, bit uint64) {
	line := ref.Offset() / record.LineBytes
	if s := m.spans[line/spanLines].Load(); s != nil {
		word = &s[line%spanLines/64]
	}
	return word, 1 << (line % 64)
}

// set marks a record. Any goroutine may call it.
func (m *marks) set(ref record.Ref) {
	if w, bit := m.at(ref); w != nil && w.Load()&bit == 0 {
		w.Or(bit)
	}
}

// begin sets or clears the mark of a new record. The caller holds the writers' lock.
func (m *marks) begin(ref record.Ref, marked bool) {
	if s := &m.spans[ref.Offset()/record.SpanBytes]; s.Load() == nil {
		s.Store(new(spanMarks))
	}
	if m.set(ref); !marked {
		m.take(ref)
	}
}

// take clears a mark, and reports whether there was one.
func (m *marks) take(ref record.Ref) bool {
	w, bit := m.at(ref)
	if w == nil || w.Load()&bit == 0 {
		return false
	}
	w.And(^bit)
	return true
}
