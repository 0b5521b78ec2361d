package disk

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// A Span says that the entries from First on are of a term, up to the next span. The log
// has an entry for each, but is trimmed; a copy of the store needs all, to find out where its
// log and another one part.
type Span struct{ Term, First uint64 }

var termsKey = []byte{termsPrefix}

// maxSpans bounds the kept spans: a term is a failover.
const maxSpans = 1 << 12

// Terms returns the terms of the log, rising.
func (db *DB) Terms() []Span {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.engine.terms
}

// appendTerms returns spans and those that begin with some entries. spans stays as it is.
func appendTerms(spans []Span, entries []Entry) (all []Span, more bool) {
	all = spans
	for i := range entries {
		if t := entries[i].Term(); t != 0 {
			all = append(all[:len(all):len(all)], Span{t, entries[i].Revision})
			more = true
		}
	}
	return all[max(0, len(all)-maxSpans):], more
}

func setTerms(b *pebble.Batch, spans []Span) {
	v := make([]byte, 0, 16*len(spans))
	for _, s := range spans {
		v = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(v, s.Term), s.First)
	}
	_ = b.Set(termsKey, v, nil) // It is memory.
}

func readTerms(iters view) (spans []Span, err error) {
	it, err := iters(&pebble.IterOptions{LowerBound: termsKey, UpperBound: []byte{endPrefix}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		k, v := it.Key(), it.Value()
		if len(k) != len(termsKey) || len(v)%16 != 0 {
			return nil, fmt.Errorf("%w: key %x with %d bytes is none of ours", ErrCorrupt, k, len(v))
		}
		for ; len(v) > 0; v = v[16:] {
			spans = append(spans, Span{binary.LittleEndian.Uint64(v), binary.LittleEndian.Uint64(v[8:])})
		}
	}
	return spans, it.Error()
}
