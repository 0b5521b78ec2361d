package attack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// featuresName is the collection of features that honest clients use, and that
// is attacked.
const featuresName = "honest-places"

// warden is an honest client of features. It alone writes those of its prefix,
// one at a time, north of the equator around 180 degrees, so it knows where
// each is. Attackers' features are in the south.
type warden struct {
	f      placesAPI
	prefix string
	at     map[string]orb.Point
	lost   map[string]bool // a write failed: it may have succeeded
	writes int
}

const (
	wardenFeatures = 48
	south          = -10.0 // attackers' features are south of it
)

// newWardens connects honest clients of features over each transport.
func newWardens(ctx context.Context, t Target) (all []*honest, err error) {
	for _, o := range []struct {
		name, transport, policy string
		slower                  time.Duration
	}{
		{"features, shm", "shm", "", 1},
		// An operation makes five sequential reads. At the others' pace it has
		// no time to spare, even alone: any wait would be a loss.
		{"features, soft", "soft", "offload-cached", 2},
		{"features, plain sockets", "tcp", "tcp", 1},
	} {
		c, err := catfish.Dial(ctx, t.Addr, catfish.Options{Transport: o.transport, Policy: o.policy, Logger: discard()})
		if err != nil {
			return all, fmt.Errorf("attack: client of %s: %w", o.name, err)
		}
		h := &honest{name: o.name, slower: o.slower, close: func() { c.Close() }}
		all = append(all, h)
		if err := c.CreateFeatures(ctx, featuresName, catfish.FeaturesOptions{}); err != nil {
			return all, fmt.Errorf("attack: client of %s: %w", o.name, err)
		}
		f, err := c.Features(featuresName)
		if err != nil {
			return all, fmt.Errorf("attack: client of %s: %w", o.name, err)
		}
		h.ask = newWarden(f).ask
	}
	return all, nil
}

func newWarden(f placesAPI) *warden {
	return &warden{f: f, prefix: fmt.Sprintf("honest-%016x-", rand.Uint64()), at: map[string]orb.Point{}, lost: map[string]bool{}}
}

// ask makes one operation and checks its answer.
func (w *warden) ask(ctx context.Context) error {
	id := fmt.Sprint(w.prefix, rand.IntN(wardenFeatures))
	switch n := rand.IntN(10); {
	case n < 4:
		return w.put(ctx, id)
	case n == 4:
		return w.remove(ctx, id)
	case n < 7:
		return w.get(ctx, id)
	case n == 7:
		return w.nearest(ctx)
	default:
		return w.search(ctx)
	}
}

func (w *warden) put(ctx context.Context, id string) error {
	w.writes++
	x := 178 + rand.Float64()*4
	if x > 180 {
		x -= 360
	}
	p := orb.Point{x, rand.Float64() * 2}
	_, _, err := w.f.Put(ctx, catfish.Feature{ID: id, Geometry: p, Properties: fmt.Appendf(nil, `{"n":%d}`, w.writes)}, kv.Condition{})
	if w.at[id] = p; err != nil {
		w.lost[id] = true
		return err
	}
	delete(w.lost, id)
	return nil
}

func (w *warden) remove(ctx context.Context, id string) error {
	_, err := w.f.Delete(ctx, id, kv.Condition{})
	_, had := w.at[id]
	switch missing := errors.Is(err, kv.ErrNotFound); {
	case err != nil && !missing:
		w.lost[id] = true
		return err
	case missing == had && !w.lost[id]:
		return fmt.Errorf("%w: delete of %q, which is there: %t; said to be missing: %t", errWrong, id, had, missing)
	}
	delete(w.at, id)
	delete(w.lost, id)
	return nil
}

func (w *warden) get(ctx context.Context, id string) error {
	f, err := w.f.Get(ctx, id)
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	p, had := w.at[id]
	if !w.lost[id] && (had != (err == nil) || had && !orb.Equal(f.Geometry, p)) {
		return fmt.Errorf("%w: %q is at %v (found: %t), want %v (there: %t)", errWrong, id, f.Geometry, err == nil, p, had)
	}
	return nil
}

// search looks for all of its features, on both sides of 180 degrees.
func (w *warden) search(ctx context.Context) error {
	found := map[string]orb.Geometry{}
	for f, err := range w.f.Search(ctx, catfish.FeatureQuery{
		Area: query.Box(177, -1, -177, 3), Filter: fmt.Sprintf("id.startsWith(%q)", w.prefix),
	}) {
		if err != nil {
			return err
		}
		if _, again := found[f.ID]; again {
			return fmt.Errorf("%w: %q is found twice", errWrong, f.ID)
		}
		found[f.ID] = f.Geometry
	}
	for id, p := range w.at {
		if g := found[id]; !w.lost[id] && (g == nil || !orb.Equal(g, p)) {
			return fmt.Errorf("%w: %q is found at %v, want %v", errWrong, id, g, p)
		}
		delete(found, id)
	}
	for id := range found {
		if !w.lost[id] {
			return fmt.Errorf("%w: %q is found, which is not there", errWrong, id)
		}
	}
	return nil
}

// nearest checks the order of distances, in the north.
func (w *warden) nearest(ctx context.Context) error {
	last, n := 0.0, 0
	for f, err := range w.f.Nearest(ctx, catfish.NearestQuery{X: 180, Y: 1, K: 10, Within: 1e6}) {
		if err != nil {
			return err
		}
		if n++; f.Distance < last || !strings.HasPrefix(f.ID, "honest-") {
			return fmt.Errorf("%w: %q at %v m after %v m", errWrong, f.ID, f.Distance, last)
		}
		last = f.Distance
	}
	if want := min(10, len(w.at)-len(w.lost)); n < want {
		return fmt.Errorf("%w: %d nearest, want %d", errWrong, n, want)
	}
	return nil
}
