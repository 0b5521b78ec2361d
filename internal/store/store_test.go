package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a time that tests move.
type clock struct{ now atomic.Int64 }

func (c *clock) Now() time.Duration      { return time.Duration(c.now.Load()) }
func (c *clock) advance(d time.Duration) { c.now.Add(int64(d)) }

func open(t testing.TB, o Options) *Store {
	t.Helper()
	if o.SlabBytes == 0 {
		o.SlabBytes = 1 << 30
	}
	st, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func create(t testing.TB, st *Store, o CollectionOptions) *Collection {
	t.Helper()
	c, err := st.CreateFeatures("places", o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// model is what a collection must hold.
type model struct {
	t *testing.T
	c *Collection
	m map[string]Feature
	r *rand.Rand
}

func (m *model) id() string { return fmt.Sprint("place ", m.r.IntN(300)) }

func (m *model) geometry() orb.Geometry {
	x, y := m.r.Float64()*360-180, m.r.Float64()*178-89
	switch m.r.IntN(8) {
	case 0:
		return nil
	case 1:
		return orb.LineString{{x, y}, {min(x+1, 180), y / 2}}
	case 2: // several boxes
		var all orb.MultiPolygon
		for i := range 5 {
			x := -170 + float64(i)*60 + m.r.Float64()*10
			all = append(all, orb.Polygon{{{x, y}, {x + 5, y}, {x + 5, y + 1}, {x, y + 1}, {x, y}}})
		}
		return all
	}
	return orb.Point{x, y}
}

// step makes a write, and compares its result.
func (m *model) step() {
	m.t.Helper()
	ctx, id := m.t.Context(), m.id()
	old, had := m.m[id]
	switch m.r.IntN(6) {
	case 0:
		cond := kv.Condition{}
		if m.r.IntN(2) == 0 {
			cond.IfRevision = old.Revision + uint64(m.r.IntN(2))
		}
		_, err := m.c.Delete(ctx, id, cond)
		switch {
		case cond.IfRevision != 0 && cond.IfRevision != old.Revision:
			m.is(err, kv.ErrConflict)
		case !had:
			m.is(err, kv.ErrNotFound)
		default:
			m.is(err, nil)
			delete(m.m, id)
		}
	case 1:
		rev, err := m.c.Patch(ctx, id, fmt.Appendf(nil, `{"n":%d,"gone":null,"in":{"a":null,"b":%[1]d}}`, m.r.IntN(10)), kv.Condition{})
		if !had {
			m.is(err, kv.ErrNotFound)
			return
		}
		m.is(err, nil)
		f, err := m.c.Get(ctx, id)
		m.is(err, nil)
		if f.Revision != rev || !orb.Equal(f.Geometry, old.Geometry) && f.Geometry != nil {
			m.t.Fatalf("after a patch: %+v, was %+v", f, old)
		}
		m.m[id] = f
	default:
		f := Feature{ID: id, Geometry: m.geometry(), Properties: fmt.Appendf(nil, `{"n":%d}`, m.r.IntN(10))}
		if m.r.IntN(8) == 0 {
			f.Properties = nil
		}
		cond := kv.Condition{IfAbsent: m.r.IntN(4) == 0}
		_, rev, err := m.c.Put(ctx, f, cond)
		if cond.IfAbsent && had {
			m.is(err, kv.ErrExists)
			return
		}
		m.is(err, nil)
		if f.Revision = rev; rev <= old.Revision {
			m.t.Fatalf("revision %d after %d", rev, old.Revision)
		}
		m.m[id] = f
	}
}

func (m *model) is(err, want error) {
	m.t.Helper()
	if !errors.Is(err, want) || want == nil && err != nil {
		m.t.Fatalf("%v, want %v", err, want)
	}
}

// agree compares all kinds of reads.
func (m *model) agree() {
	m.t.Helper()
	ctx := m.t.Context()
	for range 20 {
		id := m.id()
		f, err := m.c.Get(ctx, id)
		want, ok := m.m[id]
		if !ok {
			m.is(err, kv.ErrNotFound)
			continue
		}
		m.is(err, nil)
		m.same(f, want)
	}
	w, s := m.r.Float64()*360-180, m.r.Float64()*120-80
	queries := []Query{
		{},
		{Area: query.Box(w, s, w+m.r.Float64()*100, s+m.r.Float64()*50)},
		{Area: query.Box(170, -50, -120, 60)},
		{Area: query.Circle(w, s, m.r.Float64()*5e6)},
		{Area: query.Box(-180, -90, 180, 90), Filter: "properties.n > 5"},
		{Area: query.Polygon(orb.Polygon{{{w, s}, {w + 30, s}, {w + 15, s + 25}, {w, s}}}), Relation: feature.Within},
	}
	for _, q := range queries {
		p, err := m.c.Prepare(q)
		m.is(err, nil)
		var want []string
		for id, f := range m.m {
			if m.matches(p, f) {
				want = append(want, id)
			}
		}
		slices.Sort(want)
		for _, order := range []Order{query.AnyOrder, query.ByID} {
			q := q
			q.Order = order
			got := m.search(q)
			if order == query.AnyOrder {
				slices.Sort(got)
			}
			if !slices.Equal(got, want) {
				m.t.Fatalf("%+v: %d features, want %d", q, len(got), len(want))
			}
			n, err := m.c.Count(ctx, q)
			m.is(err, nil)
			if n != len(want) {
				m.t.Fatalf("%+v: counted %d, want %d", q, n, len(want))
			}
		}
		// Page by page.
		q.Order, q.Limit = query.ByID, 1+m.r.IntN(40)
		var paged []string
		for {
			page := m.search(q)
			if paged = append(paged, page...); len(page) < q.Limit {
				break
			}
			q.After = page[len(page)-1]
		}
		if !slices.Equal(paged, want) {
			m.t.Fatalf("%+v: %d features in pages, want %d", q, len(paged), len(want))
		}
		q.Order, q.After = query.AnyOrder, ""
		if got := m.search(q); len(got) != min(len(want), q.Limit) {
			m.t.Fatalf("%+v: %d features, want %d", q, len(got), min(len(want), q.Limit))
		}
	}
	m.nearest(NearestQuery{X: w, Y: s, K: 1 + m.r.IntN(20)})
	m.nearest(NearestQuery{X: 179, Y: 85, K: 5, Filter: "properties.n > 7"})
	m.nearest(NearestQuery{X: -179.5, Y: s, K: m.r.IntN(10), Within: 1 + m.r.Float64()*2e6})
}

func (m *model) matches(p *Prepared, f Feature) bool {
	value, err := f.Encode(m.c.o.Space)
	m.is(err, nil)
	found := Found{ID: []byte(f.ID), Value: value, Revision: f.Revision}
	m.is(found.Open(), nil)
	ok, err := p.Match(&found)
	m.is(err, nil)
	return ok
}

func (m *model) search(q Query) (ids []string) {
	m.t.Helper()
	m.is(m.c.Search(m.t.Context(), q, func(f *Found) (bool, error) {
		m.same(f.Feature(), m.m[string(f.ID)])
		ids = append(ids, string(f.ID))
		return true, nil
	}), nil)
	return ids
}

func (m *model) nearest(q NearestQuery) {
	m.t.Helper()
	pass, err := m.c.Prepare(Query{Filter: q.Filter})
	m.is(err, nil)
	origin, err := feature.NewOrigin(m.c.o.Space, orb.Point{q.X, q.Y})
	m.is(err, nil)
	type at struct {
		d  float64
		id string
	}
	var want []at
	for id, f := range m.m {
		value, _ := f.Encode(m.c.o.Space)
		v, _ := feature.Open(value)
		if d := origin.Distance(&v); m.matches(pass, f) && !math.IsInf(d, 1) && (q.Within == 0 || d <= q.Within) {
			want = append(want, at{d, id})
		}
	}
	slices.SortFunc(want, func(a, b at) int {
		if a.d != b.d {
			return int(math.Copysign(1, a.d-b.d))
		}
		return slices.Compare([]byte(a.id), []byte(b.id))
	})
	if q.K > 0 {
		want = want[:min(q.K, len(want))]
	}
	var got []at
	m.is(m.c.Nearest(m.t.Context(), q, func(f *Found) (bool, error) {
		got = append(got, at{f.Distance, string(f.ID)})
		return true, nil
	}), nil)
	if !slices.Equal(got, want) {
		m.t.Fatalf("%+v:\n%v, want\n%v", q, got, want)
	}
}

func (m *model) same(f, want Feature) {
	m.t.Helper()
	v, err := f.Encode(m.c.o.Space)
	m.is(err, nil)
	w, err := want.Encode(m.c.o.Space)
	m.is(err, nil)
	if f.ID != want.ID || f.Revision != want.Revision || !slices.Equal(v, w) {
		m.t.Fatalf("%+v, want %+v", f, want)
	}
}

// A collection agrees with a Go map after any operations, also after it
// was closed and opened again.
func TestCollectionAgainstModel(t *testing.T) {
	for _, dir := range []string{"", "kept"} {
		t.Run("dir="+dir, func(t *testing.T) {
			o := Options{SlabBytes: 1 << 30}
			if dir != "" {
				o.Dir = t.TempDir()
				o.Sync = disk.SyncOff
			}
			r := rand.New(rand.NewPCG(1, 2))
			m := &model{t: t, m: map[string]Feature{}, r: r}
			for range 3 {
				st := open(t, o)
				m.c = create(t, st, CollectionOptions{})
				if dir == "" {
					clear(m.m)
				}
				m.agree()
				for range 15 {
					for range 60 {
						m.step()
					}
					m.agree()
				}
				m.is(m.c.set.tree.Check(), nil)
				m.is(st.Close(), nil)
			}
		})
	}
}

// An order without a limit is one beside a budget, too: a peer may ask for that.
func TestOrderWithoutLimit(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	fill(t, c, 9, func(i int) Feature { return Feature{ID: fmt.Sprint(8 - i), Geometry: orb.Point{float64(i), 0}} })
	p, err := c.Prepare(Query{Area: query.Box(0, 0, 9, 1), Order: query.ByID})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	b := Buffer{Budget: 512}
	err = c.SearchWith(t.Context(), p, &b, func(f *Found) (bool, error) { got += string(f.ID); return true, nil })
	if err != nil || got != "012345678" {
		t.Errorf("%s, %v", got, err)
	}
}

// Close waits for the current batch, and refuses writes that wait, while
// others continue to write.
func TestCloseBesideWrites(t *testing.T) {
	for _, o := range []Options{{}, {Dir: "always"}, {Dir: "off", Sync: disk.SyncOff}} {
		for range 5 {
			o := o
			if o.SlabBytes = 1 << 30; o.Dir != "" {
				o.Dir = t.TempDir()
			}
			st, err := Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			c := create(t, st, CollectionOptions{})
			var writers sync.WaitGroup
			begun := make(chan struct{}, 4)
			for w := range 4 {
				writers.Go(func() {
					for i := 0; ; i++ {
						_, _, err := c.Put(t.Context(), Feature{ID: fmt.Sprint(w, i), Geometry: orb.Point{1, 1}}, kv.Condition{})
						if err != nil {
							if !errors.Is(err, ErrClosed) && !errors.Is(err, ErrUnknownCollection) && !errors.Is(err, kv.ErrClosed) {
								t.Error(err)
							}
							return
						}
						if i == 10 {
							begun <- struct{}{}
						}
					}
				})
			}
			for range 4 {
				<-begun
			}
			if err := st.Close(); err != nil {
				t.Error(err)
			}
			writers.Wait()
		}
	}
}

// Close waits for the commit leader, then refuses the writes that wait, and ends.
func TestCloseWaitsForCommitLeader(t *testing.T) {
	st, err := Open(t.Context(), Options{SlabBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	inside, out := make(chan struct{}), make(chan struct{})
	var left atomic.Bool
	var all sync.WaitGroup
	all.Go(func() {
		if err := st.runAlone(func() error { close(inside); <-out; left.Store(true); return nil }); err != nil {
			t.Error(err)
		}
	})
	<-inside
	refused := false
	st.submit(&write{run: func() error { t.Error("carried out"); return nil }, done: func(_ uint64, err error) {
		if refused = true; !errors.Is(err, ErrClosed) || !left.Load() {
			t.Errorf("the one who waits: %v, told after the other has left: %v", err, left.Load())
		}
	}})
	all.Go(func() {
		if err := st.Close(); err != nil || !left.Load() {
			t.Errorf("Close: %v, who was inside has left: %v", err, left.Load())
		}
	})
	for closed := false; !closed; runtime.Gosched() {
		st.queue.mu.Lock()
		closed = st.queue.closed
		st.queue.mu.Unlock()
	}
	for range 1000 { // time for a Close that does not wait
		runtime.Gosched()
	}
	close(out)
	if all.Wait(); !refused {
		t.Error("the one who waits was told nothing")
	}
}
