package server

import (
	"context"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/store"
)

// The server as its store's Owner: whoever creates, drops or swaps collections of the
// store, a client, the server's owner, or another service of the process, changes the
// store and the table of collections in one step, under collections.mu.

// creator is the Spec.For of a creation that the server begins.
type creator struct {
	account *limits.Account // of the client; nil: none
	made    *collection     // nil: none
}

// create makes the store create a collection. account is of the client that requests it.
func (f *features) create(name string, what newCollection, account *limits.Account) (*collection, error) {
	by := &creator{account: account}
	err := f.createBy(by, name, what)
	if by.made != nil {
		return by.made, nil
	}
	account.Close()
	if err != nil {
		return nil, err
	}
	return f.s.colls.byName(name) // It was created meanwhile.
}

func (f *features) createBy(by *creator, name string, what newCollection) error {
	if what.keep && f.s.opts.DataDir == "" {
		return fmt.Errorf("%w: boxes %q cannot be kept: the server has no data directory", model.ErrNotPermitted, name)
	}
	st, err := f.opened()
	if err != nil {
		return err
	}
	s := store.Spec{Boxes: what.keep, For: by}
	if what.features != nil {
		s.Options = *what.features
	}
	_, err = st.CreateAs(name, s)
	return err
}

// Create is for the store.
func (f *features) Create(name string, s store.Spec, create func() (store.Made, error)) (m store.Made, err error) {
	by, _ := s.For.(*creator)
	if by == nil {
		by = new(creator)
	}
	cs := &f.s.colls
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c, err := cs.byName(name); err == nil {
		what := newCollection{keep: s.Boxes}
		if !s.Boxes {
			what.features = &s.Options
		}
		return store.Made{Features: c.features, Boxes: c.boxes}, c.fits(what)
	}
	nums, err := cs.room(1, by.account)
	if err != nil {
		return m, err
	}
	if m, err = create(); err != nil {
		f.mu.Lock()
		delete(f.made, name) // The store has freed it.
		f.mu.Unlock()
		return m, err
	}
	own := f.take(name, m)
	if own == nil {
		return m, fmt.Errorf("%w: collection %q was made by others", model.ErrServer, name)
	}
	own.num, own.account, by.made = nums[0], by.account, own
	cs.publish(own)
	return m, nil
}

// Missing is for the store.
func (f *features) Missing(name string) error {
	c, err := f.s.colls.byName(name)
	if err == nil {
		err = c.isOf(model.KindFeatures)
	}
	if err == nil {
		err = fmt.Errorf("%w: %q", model.ErrUnknownCollection, name) // It is being dropped.
	}
	return err
}

// Drop is for the store.
func (f *features) Drop(name string) (bool, error) { return f.s.colls.drop(f.s, name, false) }

// MayAlter is for the store.
func (f *features) MayAlter(name string, o store.CollectionOptions) error {
	if fixed, is := f.s.opts.Features[name]; is && fixed != model.FeaturesOptions(o) {
		return fmt.Errorf("%w: collection %q has the options that the server was started with", model.ErrNotPermitted, name)
	}
	return nil
}

// Swap is for the store. It returns when no client reads by an old name any more.
func (f *features) Swap(ctx context.Context, a, b string, swap func() error) error {
	until, err := f.s.colls.swap(f.s, a, b, swap)
	if err != nil {
		return err
	}
	wait := time.NewTimer(until - wire.Monotonic())
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-f.s.ctx.Done():
		return fmt.Errorf("%w: %q and %q are swapped, clients may not know it", model.ErrClosed, a, b)
	case <-ctx.Done():
		return fmt.Errorf("catfish: %q and %q are swapped, clients may not know it: %w", a, b, ctx.Err())
	}
}
