package whole

import (
	"context"
	"errors"
	"time"

	"github.com/catfish-index/catfish/internal/door"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
)

// Store is a store of one group, or of several.
type Store struct {
	own *store.Store
	of  *Groups // nil: one
}

// Of returns the store of a member's own one, and of its groups; nil: of one.
func Of(st *store.Store, k *Groups) Store {
	if k.view() == nil {
		k = nil
	}
	return Store{st, k}
}

// Several reports whether several groups have the store together.
func (s Store) Several() bool { return s.of != nil }

// Own is the store of this member.
func (s Store) Own() *store.Store { return s.own }

// Collection is store.Store.Collection. All groups have the same collections.
func (s Store) Collection(name string) (Collection, error) {
	c, err := s.own.Collection(name)
	return Collection{c, s.of}, err
}

// Collections is store.Store.Collections.
func (s Store) Collections() []Collection {
	own := s.own.Collections()
	all := make([]Collection, len(own))
	for i, c := range own {
		all[i] = Collection{c, s.of}
	}
	return all
}

// CreateFeatures is store.Store.CreateFeatures, in all groups.
func (s Store) CreateFeatures(ctx context.Context, name string, o store.CollectionOptions) (Collection, error) {
	if s.of == nil {
		c, err := s.own.CreateFeatures(name, o)
		return Collection{c, nil}, err
	}
	if err := s.of.manage(ctx, request{Op: opCreate, Collection: name, Options: &o}); err != nil {
		return Collection{}, err
	}
	return s.Collection(name)
}

// Alter is store.Store.Alter, in all groups.
func (s Store) Alter(ctx context.Context, name string, o store.CollectionOptions) error {
	if s.of == nil {
		return s.own.Alter(name, o)
	}
	return s.of.manage(ctx, request{Op: opAlter, Collection: name, Options: &o})
}

// DropFeatures is store.Store.DropFeatures, in all groups.
func (s Store) DropFeatures(ctx context.Context, name string) (bool, error) {
	if s.of == nil {
		return s.own.DropFeatures(name)
	}
	_, err := s.own.Collection(name)
	if err := s.of.manage(ctx, request{Op: opDrop, Collection: name}); err != nil {
		return false, err
	}
	return !errors.Is(err, fault.ErrUnknownCollection), nil
}

// Collection is a collection of features as all groups have it together.
type Collection struct {
	own *store.Collection
	of  *Groups // nil: one
}

// OfOne is a collection that one group has.
func OfOne(c *store.Collection) Collection { return Collection{c, nil} }

// Several reports whether several groups have the collection together.
func (c Collection) Several() bool { return c.of != nil }

// Own is what this member's group has of the collection.
func (c Collection) Own() *store.Collection { return c.own }

// Name is store.Collection.Name. It needs no other group; nor do the next four.
func (c Collection) Name() string { return c.own.Name() }

// Options is store.Collection.Options.
func (c Collection) Options() store.CollectionOptions { return c.own.Options() }

// NewID is store.Collection.NewID.
func (c Collection) NewID() string { return c.own.NewID() }

// Prepare is store.Collection.Prepare.
func (c Collection) Prepare(q store.Query) (*store.Prepared, error) {
	return c.own.Prepare(q)
}

// PrepareTo is store.Collection.PrepareTo.
func (c Collection) PrepareTo(p *store.Prepared, q *store.Query) error { return c.own.PrepareTo(p, q) }

// Describe is store.Collection.Describe. Of several groups there are no revisions, and the
// extent may be wider than the narrowest one.
func (c Collection) Describe(ctx context.Context) (store.Description, error) {
	if c.of == nil {
		return c.own.Describe()
	}
	return c.of.describe(ctx, c.Name(), opDescribe)
}

// Schema is Describe without the extent.
func (c Collection) Schema(ctx context.Context) (store.Description, error) {
	if c.of == nil {
		return c.own.Schema()
	}
	return c.of.describe(ctx, c.Name(), opSchema)
}

// Len is the number of features, including those that have expired and are not removed yet.
func (c Collection) Len(ctx context.Context) (int, error) {
	if c.of == nil {
		return c.own.Len(), nil
	}
	answers, err := c.of.ofAll(ctx, request{Op: opLen, Collection: c.Name()})
	n := 0
	for i := range answers {
		n += answers[i].N
	}
	return n, err
}

// GroupOf is the number of the group that has an id by the present map, 0 if there is one group.
// A revision is unique among the states of an id that its group has had.
func (c Collection) GroupOf(id string) int {
	if v := c.of.view(); v != nil {
		return int(v.Map.Of([]byte(id))) + 1
	}
	return 0
}

// GetMany is store.Collection.GetMany.
func (c Collection) GetMany(ctx context.Context, ids []string, yield func(i int, f *store.Found) (more bool, err error)) error {
	if c.of == nil {
		return c.own.GetMany(ctx, ids, yield)
	}
	return c.of.get(ctx, c.Name(), ids, yield)
}

// SearchWith is store.Collection.SearchWith. Of several groups, Pace is not called: each group
// shares its own processors.
func (c Collection) SearchWith(ctx context.Context, p *store.Prepared, b *store.Buffer, yield func(*store.Found) (more bool, err error)) error {
	if c.of == nil {
		return c.own.SearchWith(ctx, p, b, yield)
	}
	return c.of.search(ctx, c.own, p, nil, b, yield)
}

// Count is store.Collection.Count.
func (c Collection) Count(ctx context.Context, q store.Query) (int, error) {
	if c.of == nil {
		return c.own.Count(ctx, q)
	}
	return c.of.count(ctx, c.own, &q)
}

// Nearest is store.Collection.Nearest.
func (c Collection) Nearest(ctx context.Context, q store.NearestQuery, yield func(*store.Found) (more bool, err error)) error {
	if c.of == nil {
		return c.own.Nearest(ctx, q, yield)
	}
	return c.of.nearest(ctx, c.Name(), &q, yield)
}

// PutEncoded is store.Collection.PutEncoded.
func (c Collection) PutEncoded(id string, value []byte, expires int64, cond kv.Condition, done func(revision uint64, err error)) {
	if c.of == nil {
		c.own.PutEncoded(id, value, expires, cond, done)
		return
	}
	c.of.put(put{EncodedFeature: store.EncodedFeature{ID: id, Value: value, Expires: expires}, cond: cond, collection: c.Name(),
		until: c.of.patience(), done: func(s store.Stored) { done(s.Revision, s.Err) }})
}

// PutTogether is store.Collection.PutTogether.
func (c Collection) PutTogether(all []store.EncodedFeature, done func(i int, s store.Stored)) {
	if c.of == nil {
		c.own.PutTogether(all, done)
		return
	}
	puts, until, name := make([]put, len(all)), c.of.patience(), c.Name()
	for i, f := range all {
		puts[i] = put{EncodedFeature: f, collection: name, until: until, done: func(s store.Stored) { done(i, s) }}
	}
	c.of.put(puts...)
}

// Patch is store.Collection.Patch.
func (c Collection) Patch(ctx context.Context, id string, patch []byte, cond kv.Condition) (revision uint64, err error) {
	if c.of == nil {
		return c.own.Patch(ctx, id, patch, cond)
	}
	a, err := c.of.ofID(ctx, id, request{Op: opPatch, Collection: c.Name(), IDs: []string{id}, Patch: patch, If: cond})
	return a.Revision, err
}

// Delete is store.Collection.Delete.
func (c Collection) Delete(ctx context.Context, id string, cond kv.Condition) (revision uint64, err error) {
	if c.of == nil {
		return c.own.Delete(ctx, id, cond)
	}
	a, err := c.of.ofID(ctx, id, request{Op: opDelete, Collection: c.Name(), IDs: []string{id}, If: cond})
	return a.Revision, err
}

// DeleteWhere is store.Collection.DeleteWhere.
func (c Collection) DeleteWhere(ctx context.Context, q store.Query) (deleted int, err error) {
	if c.of == nil {
		return c.own.DeleteWhere(ctx, q)
	}
	return c.of.erase(ctx, c.own, q)
}

// patience is until when a write that is made now is tried again.
func (k *Groups) patience() time.Time { return time.Now().Add(door.DefaultPatience) }
