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
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/store"
)

// FeatureCollection is what the service needs of a collection of features;
// *store.Collection implements it, and documents the methods. All are safe for
// concurrent use.
type FeatureCollection interface {
	Name() string
	Options() store.CollectionOptions
	Len() int
	NewID() string
	Describe() (store.Description, error)
	Schema() (store.Description, error)
	PutEncoded(id string, value []byte, expires int64, cond kv.Condition, done func(revision uint64, err error))
	PutTogether(all []store.EncodedFeature, done func(i int, s store.Stored))
	Patch(ctx context.Context, id string, patch []byte, cond kv.Condition) (revision uint64, err error)
	Delete(ctx context.Context, id string, cond kv.Condition) (revision uint64, err error)
	DeleteWhere(ctx context.Context, q store.Query) (deleted int, err error)
	GetMany(ctx context.Context, ids []string, yield func(i int, f *store.Found) (more bool, err error)) error
	Prepare(q store.Query) (*store.Prepared, error)
	PrepareTo(p *store.Prepared, q *store.Query) error
	SearchWith(ctx context.Context, p *store.Prepared, b *store.Buffer, yield func(*store.Found) (more bool, err error)) error
	Nearest(ctx context.Context, q store.NearestQuery, yield func(*store.Found) (more bool, err error)) error
	Watch(ctx context.Context, o store.WatchOptions) (*store.Watcher, error)
}

// FeatureBackend has collections of features. All methods are safe for
// concurrent use. Errors wrap those of package store, or catfish.ErrNotReady
// for a collection that is still being loaded.
type FeatureBackend interface {
	// CreateFeatures creates a collection, unless one with that name and the
	// same options exists.
	CreateFeatures(name string, o store.CollectionOptions) (FeatureCollection, error)
	// Features returns the collection with this name. The error wraps
	// store.ErrUnknownCollection if none exists.
	Features(name string) (FeatureCollection, error)
	// AllFeatures returns all collections, in any order. The caller owns the slice.
	AllFeatures() []FeatureCollection
	// AlterFeatures replaces the options of a collection, as far as they can be
	// altered (store.Store.Alter).
	AlterFeatures(name string, o store.CollectionOptions) error
	// DropFeatures removes a collection, and reports whether there was one.
	DropFeatures(name string) (bool, error)
	// SwapFeatures exchanges the names of two collections. Reads that begin
	// after it returns see the exchange.
	SwapFeatures(ctx context.Context, a, b string) error
}

// StoreBackend is a FeatureBackend of all collections of a store.
func StoreBackend(st *store.Store) FeatureBackend { return storeBackend{st} }

type storeBackend struct{ *store.Store }

func (b storeBackend) CreateFeatures(name string, o store.CollectionOptions) (FeatureCollection, error) {
	c, err := b.Create(name, o)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (b storeBackend) Features(name string) (FeatureCollection, error) {
	c, err := b.Collection(name)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (b storeBackend) AllFeatures() (all []FeatureCollection) {
	for _, c := range b.Collections() {
		all = append(all, c)
	}
	return all
}

func (b storeBackend) AlterFeatures(name string, o store.CollectionOptions) error {
	return b.Alter(name, o)
}

func (b storeBackend) DropFeatures(name string) (bool, error) { return b.Drop(name) }

func (b storeBackend) SwapFeatures(ctx context.Context, x, y string) error { return b.Swap(ctx, x, y) }

// buffers are reused by searches.
var buffers = sync.Pool{New: func() any { return new(store.Buffer) }}

// search calls yield with each feature that a query finds.
func search(ctx context.Context, c FeatureCollection, p *store.Prepared, yield func(*store.Found) (more bool, err error)) error {
	b := buffers.Get().(*store.Buffer)
	defer buffers.Put(b)
	return c.SearchWith(ctx, p, b, yield)
}

// features is shared by the services of features and of collections.
type features struct {
	backend atomic.Pointer[FeatureBackend] // nil: not loaded yet
	boxes   Backend
	options options
	loads   *limits.Budget // bytes of Loads in progress
	turns   stepper        // of calls that take long
	// watches counts areas. It is replaced before there is a backend.
	watches atomic.Pointer[limits.Budget]
}

// ready returns the backend, once it is loaded.
func (s *features) ready() (FeatureBackend, error) {
	if b := s.backend.Load(); b != nil {
		return *b, nil
	}
	return nil, fmt.Errorf("api: the server has yet to load its features: %w", catfish.ErrNotReady)
}

// collection finds the collection in a field of a request. The error is a status.
func (s *features) collection(ctx context.Context, field, name string) (FeatureCollection, error) {
	if err := checkName(field, name); err != nil {
		return nil, statusOf("", err)
	}
	c, err := s.find(ctx, name)
	if err != nil {
		return nil, statusOf(name, err)
	}
	return c, nil
}

func (s *features) find(ctx context.Context, name string) (FeatureCollection, error) {
	// The deadline may have passed while the call was queued. A write must then
	// not happen.
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	b, err := s.ready()
	if err != nil {
		return nil, err
	}
	c, err := b.Features(name)
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
