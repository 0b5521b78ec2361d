package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/places"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

const (
	// placesBatchMost and placesBatchBytes bound the places stored by one call. At most
	// placesInFlight calls are in flight: while the disk makes some of them durable, others
	// are sent and checked.
	placesBatchMost  = 256
	placesBatchBytes = 4 << 20
	placesInFlight   = 4
	// shownBad is how many bad records of each file are shown.
	shownBad = 10
)

// featureLoader stores files of places in a collection.
type featureLoader struct {
	a      *App
	to     *catfish.Features
	name   string // of the collection
	space  feature.Space
	strict bool
	unique bool         // an existing id is an error
	create func() error // creates a missing collection; nil once it exists

	stored   atomic.Int64
	created  atomic.Int64 // of stored: their ids were new
	replaced atomic.Int64 // of stored: they replaced another feature
	unsure   atomic.Bool  // more may have been stored
	size     int          // of the last place
	rows     int64        // places read
	read     int64        // records read, bad ones too
	total    places.Stats
	mu       sync.Mutex
	refused  int64 // by the server
	why      []error
	first    *recordAt // with an existing id
	told     int64     // of replaced: already printed
}

// check is places.Options.Check: a place that the collection would refuse is a bad
// record, and a place without an id gets one, so that it keeps it if it is sent twice.
func (l *featureLoader) check(p *places.Place) error {
	id, value, err := query.Encode(store.Feature{ID: p.ID, Geometry: p.Geometry, Altitudes: p.Altitudes, Properties: p.Properties}, l.space)
	p.ID, l.size = id, len(value)
	return err
}

// load stores the places of a reader, in several batches at a time. Records of the same
// id are stored in their order: one waits for the in-flight batch that has another.
func (l *featureLoader) load(ctx context.Context, r *places.Reader) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(placesInFlight)
	var under []*placesBatch
	batch := newPlacesBatch()
	flush := func() error {
		if len(batch.places) == 0 {
			return nil
		}
		if err := l.make(); err != nil {
			return err
		}
		out := batch
		g.Go(func() error {
			defer close(out.ended)
			return l.put(gctx, out)
		})
		under = append(slices.DeleteFunc(under, (*placesBatch).over), out)
		batch = newPlacesBatch()
		return nil
	}
	p := newPlacesProgress(l.a, r, &l.stored)
	var failed error
	for place, err := range r.All() {
		if err == nil {
			err = cmp.Or(gctx.Err(), l.repeated())
		}
		if err != nil {
			failed = err
			break
		}
		for _, b := range under {
			b.await(place.ID)
		}
		line, offset := r.At()
		l.rows++
		batch.add(place, recordAt{ID: place.ID, File: r.Name(), Line: line, Offset: offset, row: l.rows})
		if batch.bytes += l.size; len(batch.places) == placesBatchMost || batch.bytes >= placesBatchBytes {
			if failed = flush(); failed != nil {
				break
			}
		}
		p.place()
	}
	var foreign *places.ForeignError
	if gctx.Err() == nil && l.repeated() == nil && !errors.As(failed, &foreign) {
		failed = cmp.Or(failed, flush()) // also what precedes a broken record
	}
	err := cmp.Or(g.Wait(), l.repeated(), failed)
	p.end(err == nil)
	st := r.Stats()
	l.read += st.Places + st.Bad
	l.total.Bad += st.Bad
	l.total.NoGeometry += st.NoGeometry
	l.total.Incomplete += st.Incomplete
	l.tell(r, st)
	return err
}

// make creates the collection, if it does not exist.
func (l *featureLoader) make() error {
	if l.create == nil {
		return nil
	}
	err := l.create()
	if err == nil {
		l.create = nil
	}
	return err
}

// put stores a batch, and counts the places that certainly arrived.
func (l *featureLoader) put(ctx context.Context, b *placesBatch) error {
	results, err := l.to.PutManyIf(ctx, b.places, kv.Condition{IfAbsent: l.unique})
	for i, r := range results {
		switch {
		case r.Err == nil && r.Revision != 0:
			l.stored.Add(1)
			if r.Created {
				l.created.Add(1)
			}
			if r.Replaced {
				l.replaced.Add(1)
				l.wasThere(&b.at[i])
			}
		case l.unique && errors.Is(r.Err, kv.ErrExists):
			l.wasThere(&b.at[i]) // It ends the load, when the in-flight batches have ended.
			if errors.Is(err, r.Err) {
				err = nil
			}
		case r.Err != nil && isOfFeature(r.Err) && !l.strict:
			l.refuse(fmt.Errorf("id %q: %w", b.at[i].ID, r.Err))
			if errors.Is(err, r.Err) {
				err = nil
			}
		case r.Err != nil && err == nil:
			err = fmt.Errorf("id %q: %w", b.at[i].ID, r.Err)
		}
	}
	if err != nil && !catfish.RetrySafe(err) {
		l.unsure.Store(true)
	}
	return err
}

// isOfFeature distinguishes an error about one feature from an error about the
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

// tell prints on standard error what was left out of a file.
func (l *featureLoader) tell(r *places.Reader, st places.Stats) {
	if st.NoGeometry > 0 {
		fmt.Fprintf(l.a.Err, "%s: %d features have no geometry: they are found by id and filter only\n", r.Name(), st.NoGeometry)
	}
	if st.Incomplete > 0 {
		fmt.Fprintf(l.a.Err, "%s: %d ways and relations are cut off by the extract, and were left out\n", r.Name(), st.Incomplete)
	}
	if st.Bad > 0 {
		bad := r.Bad()
		first := ":"
		if int64(len(bad)) < st.Bad {
			first = fmt.Sprintf(", the first %d:", len(bad))
		}
		fmt.Fprintf(l.a.Err, "%s: %d bad records were left out%s\n", r.Name(), st.Bad, first)
		for _, b := range bad {
			fmt.Fprintf(l.a.Err, "  %s\n", packageNames.ReplaceAllString(b.Error(), "$1"))
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.replaced.Load() - l.told; n > 0 {
		fmt.Fprintf(l.a.Err, "%s: %d of %d records took the place of a feature with the same id; the first of all is %v\n", r.Name(), n, st.Places+st.Bad, l.first)
		l.told += n
	}
	if l.refused > 0 {
		fmt.Fprintf(l.a.Err, "%s: %d features were refused by the server, the first %d:\n", r.Name(), l.refused, len(l.why))
		for _, err := range l.why {
			fmt.Fprintf(l.a.Err, "  %s\n", packageNames.ReplaceAllString(err.Error(), "$1"))
		}
		l.total.Bad += l.refused
		l.refused, l.why = 0, nil
	}
}

// loadAll stores several files. It opens all of them first, so that it finds an error in
// one before it stores the first.
func (l *featureLoader) loadAll(ctx context.Context, pf *placeFlags, sf *sourceFlags, files []string) (err error) {
	var readers []*places.Reader
	defer func() {
		for _, r := range readers {
			_ = r.Close() // It was read.
		}
	}()
	l.strict, l.unique = pf.strict, pf.unique
	for _, path := range files {
		r, err := pf.open(l, path, sf)
		if err != nil {
			return err
		}
		readers = append(readers, r)
	}
	for i, r := range readers {
		if err := l.load(ctx, r); err != nil {
			return l.stopped(convertible(err, files[i], l.name))
		}
	}
	if l.total.Bad > 0 { // If all records are bad, nothing was loaded.
		return nil
	}
	return l.make() // Files without a place create it, too.
}

// stopped reports what is stored when a load ends with err.
func (l *featureLoader) stopped(err error) error {
	n := l.stored.Load()
	if n == 0 && !l.unsure.Load() {
		return err
	}
	return partialError{fmt.Errorf("%w\nat least %d features were stored before that, and stay", err, n)}
}
