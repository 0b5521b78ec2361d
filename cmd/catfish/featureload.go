package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets/places"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/record"
	"github.com/catfish-index/catfish/store"
)

const (
	// placesBatch and placesBatchBytes bound what is stored by one call, and
	// placesInFlight such calls are under way: while the disk makes some of them
	// durable, others are sent and checked.
	placesBatch      = 256
	placesBatchBytes = 4 << 20
	placesInFlight   = 4
	// shownBad is how many bad records are shown of each file.
	shownBad = 10
)

// featureLoader stores files of places in a collection.
type featureLoader struct {
	a      *app
	to     *catfish.Features
	space  feature.Space
	strict bool
	create func() error // the collection, unless it is there

	stored  atomic.Int64
	unsure  atomic.Bool // more may have been stored
	size    int         // of the place that was read last
	total   places.Stats
	mu      sync.Mutex
	refused int64 // by the server
	why     []error
}

// check is places.Options.Check: what the collection would refuse is a bad record,
// and a place without an id gets one, so that it is the same if it is sent twice.
func (l *featureLoader) check(p *places.Place) error {
	id, value, err := store.Encode(catfish.Feature{ID: p.ID, Geometry: p.Geometry, Properties: p.Properties}, l.space)
	p.ID, l.size = id, len(value)
	return err
}

// load stores what a reader has, in several batches at a time.
func (l *featureLoader) load(ctx context.Context, r *places.Reader) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(placesInFlight)
	var batch []catfish.Feature
	bytes := 0
	flush := func() {
		if out := batch; len(out) > 0 {
			g.Go(func() error { return l.put(gctx, out) })
		}
		batch, bytes = nil, 0
	}
	p := newPlacesProgress(l.a, r, &l.stored)
	var failed error
	for place, err := range r.All() {
		if err == nil {
			err = gctx.Err()
		}
		if err != nil {
			failed = err
			break
		}
		batch = append(batch, catfish.Feature{ID: place.ID, Geometry: place.Geometry, Properties: place.Properties})
		if bytes += l.size; len(batch) == placesBatch || bytes >= placesBatchBytes {
			flush()
		}
		p.place()
	}
	if gctx.Err() == nil {
		flush() // also what precedes a broken record
	}
	err := g.Wait()
	if err == nil {
		err = failed
	}
	p.end(err == nil)
	st := r.Stats()
	l.total.Bad += st.Bad
	l.total.NoGeometry += st.NoGeometry
	l.total.Incomplete += st.Incomplete
	l.tell(r, st)
	return err
}

// put stores a batch, and counts what certainly arrived.
func (l *featureLoader) put(ctx context.Context, batch []catfish.Feature) error {
	results, err := l.to.PutMany(ctx, batch)
	for i, r := range results {
		switch {
		case r.Err == nil && r.Revision != 0:
			l.stored.Add(1)
		case r.Err != nil && isOfFeature(r.Err) && !l.strict:
			l.refuse(fmt.Errorf("id %q: %w", batch[i].ID, r.Err))
			if errors.Is(err, r.Err) {
				err = nil
			}
		case r.Err != nil && err == nil:
			err = fmt.Errorf("id %q: %w", batch[i].ID, r.Err)
		}
	}
	if err != nil && !catfish.RetrySafe(err) {
		l.unsure.Store(true)
	}
	return err
}

// isOfFeature tells what is wrong with one feature from what is wrong with the
// server.
func isOfFeature(err error) bool {
	return errors.Is(err, store.ErrFeature) || errors.Is(err, record.ErrTooLarge) || errors.Is(err, fastmsg.ErrTooLarge)
}

func (l *featureLoader) refuse(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused++; len(l.why) < shownBad {
		l.why = append(l.why, err)
	}
}

// tell says on standard error what was left out of a file.
func (l *featureLoader) tell(r *places.Reader, st places.Stats) {
	if st.NoGeometry > 0 {
		fmt.Fprintf(l.a.err, "%s: %d features have no geometry: they are found by id and filter only\n", r.Name(), st.NoGeometry)
	}
	if st.Incomplete > 0 {
		fmt.Fprintf(l.a.err, "%s: %d ways and relations are cut off by the extract, and were left out\n", r.Name(), st.Incomplete)
	}
	if st.Bad > 0 {
		bad := r.Bad()
		first := ":"
		if int64(len(bad)) < st.Bad {
			first = fmt.Sprintf(", the first %d:", len(bad))
		}
		fmt.Fprintf(l.a.err, "%s: %d bad records were left out%s\n", r.Name(), st.Bad, first)
		for _, b := range bad {
			fmt.Fprintf(l.a.err, "  %s\n", packageNames.ReplaceAllString(b.Error(), "$1"))
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused > 0 {
		fmt.Fprintf(l.a.err, "%s: %d features were refused by the server, the first %d:\n", r.Name(), l.refused, len(l.why))
		for _, err := range l.why {
			fmt.Fprintf(l.a.err, "  %s\n", packageNames.ReplaceAllString(err.Error(), "$1"))
		}
		l.total.Bad += l.refused
		l.refused, l.why = 0, nil
	}
}

// loadAll stores several files, which are opened first. What is wrong with one is
// found before the first is stored.
func (l *featureLoader) loadAll(ctx context.Context, pf *placeFlags, sf *sourceFlags, files []string) (err error) {
	var readers []*places.Reader
	defer func() {
		for _, r := range readers {
			_ = r.Close() // It was read.
		}
	}()
	for _, path := range files {
		r, err := pf.open(l.a, path, sf, l.check)
		if err != nil {
			return err
		}
		readers = append(readers, r)
	}
	if l.create != nil {
		if err := l.create(); err != nil {
			return err
		}
	}
	for _, r := range readers {
		if err := l.load(ctx, r); err != nil {
			return l.stopped(err)
		}
	}
	return nil
}

// stopped says what is stored when a load ends with err.
func (l *featureLoader) stopped(err error) error {
	n := l.stored.Load()
	if n == 0 && !l.unsure.Load() {
		return err
	}
	return partialError{fmt.Errorf("%w\nat least %d features were stored before that, and stay", err, n)}
}

// loadFeatures loads files into the collection of features that f names. It is not
// there yet if fresh is not nil, and is made when the files could be opened.
func (a *app) loadFeatures(ctx context.Context, cl *catfish.Client, f *clientFlags, pf *placeFlags, sf *sourceFlags, files []string, fresh *catfish.FeaturesOptions) error {
	if err := noUse(sf.flags, "for a collection of features", boxFlagNames...); err != nil {
		return err
	}
	to, err := cl.Features(f.collection)
	if err != nil {
		return err
	}
	l := &featureLoader{a: a, to: to, strict: pf.strict}
	if fresh != nil {
		l.space = fresh.Space
		l.create = func() error { return cl.CreateFeatures(ctx, f.collection, *fresh) }
	} else {
		info, err := to.Describe(ctx)
		if err != nil {
			return err
		}
		if pf.planar && info.Space != feature.Planar {
			return badUsage("--planar: collection %q is %v", f.collection, info.Space)
		}
		l.space = info.Space
	}
	if err := l.loadAll(ctx, pf, sf, files); err != nil {
		return err
	}
	var none error
	if l.stored.Load() == 0 && l.total.Bad > 0 {
		none = fmt.Errorf("nothing was loaded: all %d records are bad", l.total.Bad)
	}
	if f.json {
		return errors.Join(none, a.json(struct {
			Collection string `json:"collection"`
			Loaded     int64  `json:"loaded"`
			Bad        int64  `json:"bad"`
			NoGeometry int64  `json:"no_geometry"`
			Incomplete int64  `json:"incomplete"`
			Transport  string `json:"transport"`
		}{f.collection, l.stored.Load(), l.total.Bad, l.total.NoGeometry, l.total.Incomplete, cl.Info().Transport}))
	}
	if none != nil {
		return none
	}
	left := ""
	if l.total.Bad > 0 {
		left = fmt.Sprintf(", %d bad records were left out", l.total.Bad)
	}
	return a.printf("loaded %d features into %s%s\n", l.stored.Load(), f.collection, left)
}
