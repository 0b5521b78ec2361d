package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/names"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/whole"
)

// buffers are reused by searches.
var buffers = sync.Pool{New: func() any { return new(store.Buffer) }}

// search calls yield with each feature that a query finds.
func search(ctx context.Context, c whole.Collection, p *store.Prepared, yield func(*store.Found) (more bool, err error)) error {
	b := buffers.Get().(*store.Buffer)
	defer buffers.Put(b)
	return c.SearchWith(ctx, p, b, yield)
}

// features is shared by the services of features and of collections.
type features struct {
	store   atomic.Pointer[store.Store] // nil: not loaded yet
	boxes   Backend
	options options
	loads   *limits.Budget // bytes of Loads in progress
	// watches counts areas. It is replaced before there is a store.
	watches atomic.Pointer[limits.Budget]
}

// ready returns the store, once it is loaded.
func (s *features) ready() (whole.Store, error) {
	if st := s.store.Load(); st != nil {
		return whole.Of(st, s.options.groups), nil
	}
	return whole.Store{}, fmt.Errorf("api: the server has yet to load its features: %w", catfish.ErrNotReady)
}

// collection finds the collection in a field of a request. The error is a status.
func (s *features) collection(ctx context.Context, field, name string) (whole.Collection, error) {
	if err := checkName(field, name); err != nil {
		return whole.Collection{}, statusOf("", err)
	}
	c, err := s.find(ctx, name)
	if err != nil {
		return c, statusOf(name, err)
	}
	return c, nil
}

func (s *features) find(ctx context.Context, name string) (whole.Collection, error) {
	// The deadline may have passed while the call was queued. A write must then
	// not happen.
	if err := context.Cause(ctx); err != nil {
		return whole.Collection{}, err
	}
	st, err := s.ready()
	if err != nil {
		return whole.Collection{}, err
	}
	c, err := st.Collection(name)
	if errors.Is(err, store.ErrUnknownCollection) && slices.Contains(s.boxes.Collections(), name) {
		err = fmt.Errorf("%w: %q holds boxes, not features", catfish.ErrKind, name)
	}
	return c, err
}

func checkName(field, name string) error {
	if name == "" {
		return &fieldError{field, ReasonBadField, errMissing}
	}
	if err := names.CheckLength(name); err != nil {
		return &fieldError{field, ReasonBadField, err}
	}
	return nil
}

// failed is the status of a call on a collection.
func failed(ctx context.Context, name string, err error, extra ...protoDetail) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		// The reason why the server ended the call is more precise.
		if why := context.Cause(ctx); why != nil {
			err = why
		}
	}
	return statusOf(name, err, extra...)
}
