package client

import (
	"context"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
)

// kind is a kind of collections. Each has a policy of its own, since what the reads of
// one cost says nothing about another, and each policy observes all heartbeats.
type kind uint8

const (
	ofBoxes kind = iota
	ofRecords
	ofFeatures
	kinds
)

func (k kind) String() string {
	return [kinds]string{model.KindBoxes, model.KindRecords, model.KindFeatures}[k]
}

func (o *openSlab) kind() kind {
	switch {
	case o.features:
		return ofFeatures
	case o.records != nil:
		return ofRecords
	}
	return ofBoxes
}

// openKind is openChecked for a collection that must be of a kind.
func (s *session) openKind(ctx context.Context, name string, k kind, request fastmsg.Kind) (*openSlab, error) {
	o, err := s.openChecked(ctx, name, request)
	if err == nil {
		err = o.isOf(k)
	}
	return o, err
}

// isOf returns an error if the collection is of another kind.
func (o *openSlab) isOf(k kind) error {
	if is := o.kind(); is != k {
		return fmt.Errorf("%w: %q is one of %s, not of %s", model.ErrKind, o.name, is, k)
	}
	return nil
}
