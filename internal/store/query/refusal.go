package query

import (
	"fmt"

	"github.com/catfish-index/catfish/internal/kv"
)

// Refusal is an error of package kv, which knows only keys, in words of features.
type Refusal struct {
	Is   error // kv.ErrNotFound, kv.ErrExists or kv.ErrConflict
	Text string
}

func (e *Refusal) Error() string { return e.Text }
func (e *Refusal) Unwrap() error { return e.Is }

// NoFeature is the kv.ErrNotFound of an id in a collection.
func NoFeature(collection, id string) error {
	return &Refusal{kv.ErrNotFound, fmt.Sprintf("no feature %.200q in %.128q", id, collection)}
}
