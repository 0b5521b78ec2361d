package store

import (
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// refused is why a write is refused: is, with the revision that the feature has, 0 if
// there is none.
func (w *write) refused(is error, has uint64) error {
	name := w.coll.Name()
	switch {
	case errors.Is(is, kv.ErrNotFound):
		return query.NoFeature(name, w.id)
	case errors.Is(is, kv.ErrExists):
		return &query.Refusal{Is: kv.ErrExists, Text: fmt.Sprintf("feature %.200q is in %.128q already, with revision %d", w.id, name, has)}
	case has == 0:
		return &query.Refusal{Is: kv.ErrConflict, Text: fmt.Sprintf("no feature %.200q in %.128q, want revision %d", w.id, name, w.cond.IfRevision)}
	}
	return &query.Refusal{Is: kv.ErrConflict, Text: fmt.Sprintf("feature %.200q of %.128q has revision %d, want %d", w.id, name, has, w.cond.IfRevision)}
}

// judgeAgain lets no precondition refuse a write by a state that may be old, or that was not
// committed: of a primary that was deposed meanwhile, or by a write before it in a batch that
// failed. Nothing of the write is in the log, so it is safe to repeat.
func (st *Store) judgeAgain(batch []*write, judged Reading, failed error) {
	if !st.o.Replicated {
		return
	}
	old := judged.Err()
	if old == nil && failed != nil {
		old = fmt.Errorf("%w: what the write was judged by is not committed", fault.ErrNotPrimary)
	}
	if old == nil {
		return
	}
	for _, w := range batch {
		if !w.repeated() && w.nothing() {
			w.err = old
		}
	}
}
