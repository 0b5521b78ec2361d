package store

import (
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/kv"
)

// refusal is an error of package kv, which knows only keys, in words of features.
type refusal struct {
	is   error // kv.ErrNotFound, kv.ErrExists or kv.ErrConflict
	text string
}

func (e *refusal) Error() string { return e.text }
func (e *refusal) Unwrap() error { return e.is }

// NoFeature is the kv.ErrNotFound of an id in a collection.
func NoFeature(collection, id string) error {
	return &refusal{kv.ErrNotFound, fmt.Sprintf("no feature %.200q in %.128q", id, collection)}
}

// refused is why a write is refused: is, with the revision that the feature has, 0 if
// there is none.
func (w *write) refused(is error, has uint64) error {
	name := w.coll.Name()
	switch {
	case errors.Is(is, kv.ErrNotFound):
		return NoFeature(name, w.id)
	case errors.Is(is, kv.ErrExists):
		return &refusal{kv.ErrExists, fmt.Sprintf("feature %.200q is in %.128q already, with revision %d", w.id, name, has)}
	case has == 0:
		return &refusal{kv.ErrConflict, fmt.Sprintf("no feature %.200q in %.128q, want revision %d", w.id, name, w.cond.IfRevision)}
	}
	return &refusal{kv.ErrConflict, fmt.Sprintf("feature %.200q of %.128q has revision %d, want %d", w.id, name, has, w.cond.IfRevision)}
}
