package catfish

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/store"
)

// Local is a store of features in this process, without a network. Its Features
// are those of a Client.
type Local struct {
	st    *store.Store
	stop  context.CancelFunc
	tidy  sync.WaitGroup
	close sync.Once
}

// LocalOptions configure a Local: those of the store. Dir is Open's.
type LocalOptions = store.Options

// Open opens the features in a data directory, or makes it; an empty one keeps
// them in memory alone. One process at a time has a directory open: a server's is
// that of the server.
func Open(ctx context.Context, dir string, o LocalOptions) (*Local, error) {
	o.Dir = dir
	st, err := store.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	l := &Local{st: st}
	ctx, l.stop = context.WithCancel(context.Background())
	l.tidy.Go(func() { l.keepTidy(ctx) })
	return l, nil
}

// keepTidy does what is to be done besides calls.
func (l *Local) keepTidy(ctx context.Context) {
	tick := time.NewTicker(recordsTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, c := range l.st.Collections() {
			for began := time.Now(); c.Tidy(tidyPieces) && time.Since(began) < tidyTime; {
			}
		}
	}
}

// Store is what the Local has opened.
func (l *Local) Store() *store.Store { return l.st }

// Close waits for calls under way, and closes the store. Later calls fail with
// store.ErrClosed.
func (l *Local) Close() (err error) {
	l.close.Do(func() {
		l.stop()
		l.tidy.Wait()
		err = l.st.Close()
	})
	return err
}

// CreateFeatures adds a collection, unless there is one of that name
// (store.ErrCollectionExists: with other options).
func (l *Local) CreateFeatures(_ context.Context, name string, o FeaturesOptions) error {
	if err := checkName(name); err != nil {
		return err
	}
	_, err := l.st.Create(name, o)
	return err
}

// DropCollection removes a collection with all features, and reports whether there
// was one.
func (l *Local) DropCollection(_ context.Context, name string) (bool, error) { return l.st.Drop(name) }

// Features is for a collection. ErrUnknownCollection: there is none of that name.
func (l *Local) Features(name string) (*Features, error) {
	c, err := l.st.Collection(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %q", ErrUnknownCollection, name)
	}
	return FeaturesOf(c), nil
}

// FeaturesOf is for a collection in this process, such as a Server's.
func FeaturesOf(c *store.Collection) *Features { return &Features{&localFeatures{c}} }

// localFeatures is a collection in this process.
type localFeatures struct{ c *store.Collection }

// put has all under way at once, so that they share a commit.
func (l *localFeatures) put(ctx context.Context, fs []Feature, cond kv.Condition, results []PutResult) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var under sync.WaitGroup
	for i, f := range fs {
		id, value, err := store.Encode(f, l.c.Options().Space)
		if results[i].ID = id; err != nil {
			results[i].Err = err
			continue
		}
		under.Add(1)
		l.c.PutEncoded(id, value, int64(store.Expiry(f.Expires)), cond, func(revision uint64, err error) {
			results[i].Revision, results[i].Err = revision, err
			under.Done()
		})
	}
	under.Wait()
	return nil
}

func (l *localFeatures) patch(ctx context.Context, id string, patch []byte, cond kv.Condition) (uint64, error) {
	return l.c.Patch(ctx, id, patch, cond)
}

func (l *localFeatures) erase(ctx context.Context, id string, cond kv.Condition) (uint64, error) {
	return l.c.Delete(ctx, id, cond)
}

func (l *localFeatures) eraseWhere(ctx context.Context, q FeatureQuery) (int, error) {
	return l.c.DeleteWhere(ctx, q)
}

func (l *localFeatures) get(ctx context.Context, ids []string, yield func(int, *store.Found) (bool, error)) error {
	return l.c.GetMany(ctx, ids, yield)
}

func (l *localFeatures) search(ctx context.Context, q FeatureQuery, yield func(*store.Found) (bool, error)) error {
	return l.c.Search(ctx, q, yield)
}

func (l *localFeatures) nearest(ctx context.Context, q NearestQuery, yield func(*store.Found) (bool, error)) error {
	return l.c.Nearest(ctx, q, yield)
}

func (l *localFeatures) count(ctx context.Context, q FeatureQuery) (int, error) {
	return l.c.Count(ctx, q)
}
