package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/rstar"
)

// loading is what 'serve' loads before it is ready.
type loading struct {
	a       *App
	f       *serveFlags
	o       *daemon.Options
	sources []*datasets.Source // of boxes
	objects func() int         // those of the ready line; set by load
}

// newLoading opens the files of boxes, so that one that cannot be read ends the start.
func newLoading(a *App, f *serveFlags, o *daemon.Options) (l *loading, err error) {
	l = &loading{a: a, f: f, o: o}
	if f.keep.into == "" {
		if l.sources, err = f.openAll(f.load); err != nil {
			return nil, f.notBoxes(err, f.load)
		}
	}
	if len(o.Group.Coordinators) > 0 && (f.keep.into != "" || l.kept()) {
		o.Server.Loading = nil // The primary makes the collection when it has joined, and fills it then.
	}
	return l, nil
}

// first is the collection of boxes that the ready line describes.
func (l *loading) first() string {
	if len(l.f.collections) > 0 {
		return l.f.collections[0]
	}
	return catfish.DefaultCollection
}

func (l *loading) kept() bool { return slices.Contains(l.o.Server.Keep, l.first()) }

// load fills the collection that the ready line describes, if it is in memory, and waits for the store.
func (l *loading) load(ctx context.Context, srv *catfish.Server) error {
	if l.f.keep.kind != catfish.KindBoxes {
		l.a.tellLeftOut(&l.f.sourceFlags, l.first(), l.f.load[:len(l.sources)])
	}
	if !l.kept() {
		if err := l.fillBoxes(ctx, srv, l.first()); err != nil {
			return err
		}
	}
	if l.kept() || l.f.keep.into != "" || len(l.f.load) == 0 { // A secondary fills nothing of it.
		l.objects = func() int { return allObjects(srv.Stats()) }
	}
	return l.a.awaitStore(ctx, srv, l.o.Server.DataDir)
}

// fill fills what is kept.
func (l *loading) fill(ctx context.Context, srv *catfish.Server) error {
	if l.kept() {
		if err := l.fillKeptBoxes(ctx, srv, l.first()); err != nil {
			return err
		}
	}
	if l.f.keep.into != "" {
		if err := l.fillFeatures(ctx, srv); err != nil {
			return err
		}
	}
	if len(l.f.load) == 0 {
		l.objects = func() int { return allObjects(srv.Stats()) }
	}
	return nil
}

// fillBoxes loads files into a collection in memory, which clients may then use while the
// store is still being loaded.
func (l *loading) fillBoxes(ctx context.Context, srv *catfish.Server, name string) error {
	tree, err := srv.Collection(name)
	if err != nil {
		return err
	}
	l.objects = tree.Len
	if len(l.sources) == 0 {
		return nil
	}
	if l.o.Server.DataDir != "" {
		fmt.Fprintf(l.a.Err, "%s collection %s is in memory alone: --keep keeps it\n", logTime(time.Now()), name)
	}
	if err := l.a.fill(ctx, tree, tree.Load, l.mine(srv, name), l.sources); err != nil {
		return l.f.notBoxes(err, l.f.load)
	}
	return srv.SetReady(name)
}

// mine returns what reports whether this server has a box of a collection: of one that several
// groups have, it has the boxes in its group's ranges. nil: it has all.
func (l *loading) mine(srv *catfish.Server, name string) func(rstar.Rect) (bool, error) {
	if len(l.o.Group.Coordinators) == 0 {
		return nil
	}
	return func(box rstar.Rect) (bool, error) {
		switch err := srv.TakesBox(name, box, true); {
		case errors.Is(err, placement.ErrUnknown):
			return false, fmt.Errorf("%w: --load of boxes into %q, which are not placed: 'catfish cluster boxes %s' gives each group a part", catfish.ErrSeveralGroups, name, name)
		case errors.Is(err, catfish.ErrMoved):
			return false, nil
		default:
			return err == nil, err
		}
	}
}

// awaitStore waits until the stored data is loaded, and reports periodically that it
// waits.
func (a *App) awaitStore(ctx context.Context, srv *catfish.Server, dir string) error {
	if dir == "" {
		return srv.WaitReady(ctx)
	}
	began := time.Now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	ready := make(chan error, 1)
	go func() { ready <- srv.WaitReady(ctx) }()
	for {
		select {
		case err := <-ready:
			return err
		case now := <-tick.C:
			fmt.Fprintf(a.Err, "%s loading %s: %v\n", logTime(now), dir, now.Sub(began).Round(time.Second))
		}
	}
}

// fillFeatures loads files into a collection of features, unless it has features from an
// earlier run: a restart must not revert the changes made since.
func (l *loading) fillFeatures(ctx context.Context, srv *catfish.Server) error {
	a, f := l.a, l.f
	c, err := srv.Features(f.keep.into)
	if err != nil {
		return err
	}
	l.objects = c.Len
	if len(f.load) == 0 {
		return nil
	}
	if n := c.Len(); n > 0 {
		fmt.Fprintf(a.Err, "%s collection %s has %d features from before: nothing was loaded\n", logTime(time.Now()), f.keep.into, n)
		return nil
	}
	to := &featureLoader{a: a, to: catfish.FeaturesOf(c), name: f.keep.into, space: c.Options().Space}
	err = c.Fill(func() error { return to.loadAll(ctx, &f.keep.placeFlags, &f.sourceFlags, f.load) })
	if errors.Is(err, catfish.ErrMoved) {
		err = fmt.Errorf("%w: --load of features, of which each group has a part: 'catfish load' stores them: %w", catfish.ErrSeveralGroups, err)
	}
	return err
}

// fillKeptBoxes loads files into a persistent collection of boxes, unless it has boxes
// from an earlier run, as fillFeatures does.
func (l *loading) fillKeptBoxes(ctx context.Context, srv *catfish.Server, name string) error {
	c, err := srv.Kept(name)
	if err != nil {
		return err
	}
	l.objects = c.Tree().Len
	if len(l.sources) == 0 {
		return nil
	}
	if n := c.Tree().Len(); n > 0 {
		fmt.Fprintf(l.a.Err, "%s collection %s has %d objects from before: nothing was loaded\n", logTime(time.Now()), name, n)
		return nil
	}
	return l.a.fill(ctx, c.Tree(), c.Load, l.mine(srv, name), l.sources)
}
