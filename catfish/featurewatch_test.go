package catfish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/feature/filter"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/disk"
	"github.com/catfish-index/catfish/store/query"
)

// watchPaths are all ways to watch a server's features: by message, and in process.
var watchPaths = append([]string{"local"}, allTransports...)

func watchedBy(t testing.TB, s *Server, how string) *Features {
	t.Helper()
	if how == "local" {
		c, err := s.Features(testFeatures)
		if err != nil {
			t.Fatal(err)
		}
		return FeaturesOf(c)
	}
	return dialFeatures(t, s, messagesOnly(how))
}

// follow starts a goroutine that takes the events of a watch until take returns false or
// the events end. stands is closed when the watch stands; ended has the error.
func follow(ctx context.Context, f *Features, q WatchQuery, take func(FeatureEvent) (more bool)) (stands chan struct{}, ended chan error) {
	stands, ended = make(chan struct{}), make(chan error, 1)
	stood, progress := false, q.Progress
	q.Progress = true
	go func() {
		var last error
		for e, err := range f.Watch(ctx, q) {
			last = err
			if !stood {
				stood = true
				close(stands)
				if err == nil {
					continue
				}
			}
			if err == nil && e.Kind == query.Progress && !progress {
				continue
			}
			if err == nil && !take(e) {
				break
			}
		}
		ended <- last
	}()
	return stands, ended
}

func text(e FeatureEvent) string {
	s := fmt.Sprintf("%v %v %s %s", e.Kind, e.Why, e.Area, e.ID)
	if e.Feature.Geometry != nil {
		s += fmt.Sprint(" ", e.Feature.Geometry)
	}
	if e.Old != nil {
		s += fmt.Sprint(" was ", e.Old.Geometry, string(e.Old.Properties))
	}
	return s
}

// Events of two areas, one with a filter, come by each path, with the features before if
// they are wanted; and again, from each revision on.
func TestWatch(t *testing.T) {
	q := WatchQuery{Areas: []WatchArea{
		{"east", FeatureQuery{Area: query.Box(0, -10, 10, 10), Filter: "properties.n < 5"}},
		{"west", FeatureQuery{Area: query.Polygon(orb.Polygon{{{-10, -10}, {0, -10}, {0, 10}, {-10, 10}, {-10, -10}}})}},
	}, Old: true}
	want := []string{
		"enter  east a [1 1]",
		"inside  east a [2 2] was [1 1]{\"n\":1}",
		"changed  east a [2 2] was [2 2]{\"n\":1}",
		"exit moved east a [-2 2] was [2 2]{\"n\":2}",
		"enter  west a [-2 2] was [2 2]{\"n\":2}",
		"exit deleted west a was [-2 2]{\"n\":2}",
		"enter  east b [3 3]",
		"exit filtered east b [3 3] was [3 3]{\"n\":3}",
	}
	for _, how := range watchPaths {
		t.Run(how, func(t *testing.T) {
			s := startFeatures(t, ServerOptions{Workers: 1})
			f, ctx := watchedBy(t, s, how), t.Context()
			var got []FeatureEvent
			stands, ended := follow(ctx, f, q, func(e FeatureEvent) bool {
				got = append(got, e)
				return len(got) < len(want)
			})
			<-stands
			put := func(id string, x, y float64, n int) {
				t.Helper()
				p := Feature{ID: id, Geometry: orb.Point{x, y}, Properties: fmt.Appendf(nil, `{"n":%d}`, n)}
				if _, _, err := f.Put(ctx, p, kv.Condition{}); err != nil {
					t.Fatal(err)
				}
			}
			put("a", 1, 1, 1)
			put("a", 2, 2, 1)
			put("a", 2, 2, 2)
			put("a", -2, 2, 2)
			put("elsewhere", 50, 50, 2)
			if _, err := f.Delete(ctx, "a", kv.Condition{}); err != nil {
				t.Fatal(err)
			}
			put("b", 3, 3, 3)
			put("b", 3, 3, 7)
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			check := func(got []FeatureEvent, want []string) {
				t.Helper()
				var texts []string
				for _, e := range got {
					texts = append(texts, text(e))
					if e.Kind != query.Exit && (e.Feature.Revision != e.Revision || e.Feature.ID != e.ID) {
						t.Errorf("%+v has another feature", e)
					}
				}
				if !slices.Equal(texts, want) {
					t.Errorf("%q\nwant %q", texts, want)
				}
			}
			check(got, want)
			for i, e := range got[:len(got)-1] {
				var again []FeatureEvent
				q := q
				rest := i + 1
				q.History = e.History
				if q.From = e.Resume; e.Resume < e.Revision {
					rest = i // The first of two events of a write comes again.
				}
				_, ended := follow(ctx, f, q, func(e FeatureEvent) bool {
					again = append(again, e)
					return len(again) < len(want)-rest
				})
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				check(again, want[rest:])
			}
			eventually(t, "nothing is held", func() bool { return s.watchBudget.Use().Used == 0 })
		})
	}
}

// TestWatchHistories: while movers of all paths move, watchers of all paths follow an
// area from a first search on, and lose their connections. Each must end with the state
// that a search finds, and get the events of a watcher that loses nothing: none is
// missing, none comes twice.
func TestWatchHistories(t *testing.T) {
	s := startFeatures(t, ServerOptions{Workers: 2})
	ctx := t.Context()
	area := FeatureQuery{Area: query.Box(-5, -5, 5, 5), Filter: "properties.n != 3"}
	movers, moves := 4, max(300/raceFactor, 60)

	type line struct {
		revision uint64
		text, id string
		gone     bool
	}
	type follower struct {
		name   string
		began  uint64
		events []line
		has    map[string]uint64 // from the first search, then from the events
		ended  chan error
		conn   *connection // the one that was cut
	}
	var all []*follower
	begin := func(name string, f *Features, cut func(n int)) {
		w := &follower{name: name, has: map[string]uint64{}}
		var stands chan struct{}
		first := true
		stands, w.ended = follow(ctx, f, WatchQuery{Query: area, Progress: true}, func(e FeatureEvent) bool {
			if e.Kind == query.Progress {
				return true
			}
			if first {
				first = false
				w.began = e.Revision
			}
			w.events = append(w.events, line{e.Revision, text(e), e.ID, e.Kind == query.Exit})
			if cut != nil {
				cut(len(w.events))
			}
			return e.ID != "end"
		})
		<-stands
		for p, err := range f.Search(ctx, area) {
			if err != nil {
				t.Error(err)
			}
			w.has[p.ID] = p.Revision
		}
		if cut != nil {
			w.conn = f.be.(*remoteFeatures).c.conn
		}
		all = append(all, w)
	}
	begin("reference", watchedBy(t, s, "local"), nil)

	var moving sync.WaitGroup
	half := make(chan struct{})
	var once sync.Once
	for i := range movers {
		f := watchedBy(t, s, watchPaths[i%len(watchPaths)])
		moving.Go(func() {
			rng := rand.New(rand.NewPCG(5, uint64(i)))
			for n := range moves {
				id := fmt.Sprint("mover ", rng.IntN(12))
				var err error
				if rng.IntN(5) == 0 {
					if _, err = f.Delete(ctx, id, kv.Condition{}); errors.Is(err, kv.ErrNotFound) {
						err = nil
					}
				} else {
					_, _, err = f.Put(ctx, Feature{
						ID: id, Geometry: orb.Point{rng.Float64()*16 - 8, rng.Float64()*16 - 8},
						Properties: fmt.Appendf(nil, `{"n":%d}`, rng.IntN(5)),
					}, kv.Condition{})
				}
				if err != nil {
					t.Error(err)
				}
				if n == moves/4 {
					once.Do(func() { close(half) })
				}
			}
		})
	}
	<-half
	for _, how := range watchPaths {
		for _, cutting := range []bool{false, true} {
			if cutting && how == "local" {
				continue
			}
			f := watchedBy(t, s, how)
			var cut func(int)
			if cutting {
				conn := f.be.(*remoteFeatures).c.conn
				cut = func(n int) {
					if n%40 == 7 {
						conn.sessions.latest().caller.Close()
					}
				}
			}
			begin(fmt.Sprint(how, " cut ", cutting), f, cut)
		}
	}
	moving.Wait()
	last := watchedBy(t, s, "local")
	if _, _, err := last.Put(ctx, Feature{ID: "end", Geometry: orb.Point{}, Properties: []byte(`{"n":0}`)}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]uint64{}
	for p, err := range last.Search(ctx, area) {
		if err != nil {
			t.Fatal(err)
		}
		want[p.ID] = p.Revision
	}
	for _, w := range all {
		if err := <-w.ended; err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
	}
	reference := all[0].events
	for _, w := range all {
		at := slices.IndexFunc(reference, func(l line) bool { return l.revision == w.began })
		if at < 0 || !slices.Equal(w.events, reference[at:]) {
			t.Errorf("%s: %d events from %d, want %d", w.name, len(w.events), w.began, len(reference)-at)
		}
		for _, e := range w.events {
			switch {
			case e.revision <= w.has[e.id]: // The search has seen it.
			case e.gone:
				delete(w.has, e.id)
			default:
				w.has[e.id] = e.revision
			}
		}
		if !maps.Equal(w.has, want) {
			t.Errorf("%s: %v, want %v", w.name, w.has, want)
		}
		if w.conn != nil && w.conn.counters.reconnects.Load() == 0 {
			t.Errorf("%s: the connection was never lost", w.name)
		}
	}
	if len(reference) < movers*moves/4 || len(want) < 2 {
		t.Errorf("%d events, %d features in the end", len(reference), len(want))
	}
}

// watchOne takes one event, or the error.
func watchOne(ctx context.Context, f *Features, q WatchQuery) (FeatureEvent, error) {
	for e, err := range f.Watch(ctx, q) {
		return e, err
	}
	return FeatureEvent{}, errors.New("nothing")
}

// The error that ends a watch names the remedy.
func TestWatchEnds(t *testing.T) {
	for _, how := range watchPaths {
		t.Run(how, func(t *testing.T) {
			s := startFeatures(t, ServerOptions{Workers: 1, Watch: store.WatchLimits{Changes: 4, WatcherAreas: 2}})
			f, ctx := watchedBy(t, s, how), t.Context()
			var last uint64
			put := func(id string) {
				var err error
				if _, last, err = f.Put(ctx, Feature{ID: id, Geometry: orb.Point{1, 1}, Properties: []byte(`{"n":"x"}`)}, kv.Condition{}); err != nil {
					t.Fatal(err)
				}
			}
			e, err := watchOne(ctx, f, WatchQuery{Progress: true})
			if err != nil || e.Kind != query.Progress || e.Resume == 0 || e.Resume != e.Revision || e.History == 0 {
				t.Fatalf("%+v, %v", e, err)
			}
			for range 6 {
				put("a")
			}
			for name, c := range map[string]struct {
				q    WatchQuery
				want []error
			}{
				"too slow":       {WatchQuery{From: e.Resume}, []error{store.ErrLagged, disk.ErrTrimmed}},
				"other writes":   {WatchQuery{From: e.Resume + 6, History: e.History + 1}, []error{store.ErrLagged, disk.ErrAhead}},
				"another store":  {WatchQuery{From: 1 << 62}, []error{store.ErrLagged, disk.ErrAhead}},
				"three areas":    {WatchQuery{Areas: []WatchArea{{Name: "1"}, {Name: "2"}, {Name: "3"}}}, []error{store.ErrWatchLimit}},
				"one area twice": {WatchQuery{Areas: []WatchArea{{Name: "1"}, {Name: "1"}}}, []error{store.ErrQuery}},
				"limit":          {WatchQuery{Query: FeatureQuery{Limit: 1}}, []error{store.ErrQuery}},
				"no such box":    {WatchQuery{Query: FeatureQuery{Area: query.Box(0, 200, 1, 300)}}, []error{store.ErrQuery}},
				"bad filter":     {WatchQuery{Query: FeatureQuery{Filter: "properties.("}}, []error{store.ErrQuery}},
			} {
				_, err := watchOne(ctx, f, c.q)
				for _, want := range c.want {
					// Over a connection only one sentinel travels, and those that follow from it.
					if !errors.Is(err, want) && (how == "local" || want == c.want[0]) {
						t.Errorf("%s: %v, want %v", name, err, want)
					}
				}
			}
			for e, err := range f.Watch(ctx, WatchQuery{Query: FeatureQuery{Filter: longFilter}, Progress: true}) {
				if err == nil {
					put("b")
					continue
				}
				if !errors.Is(err, filter.ErrCost) || e.ID != "b" || e.Revision != last || e.Resume != last {
					t.Errorf("a filter's error: %+v, %v", e, err)
				}
			}
			eventually(t, "all watchers are gone", func() bool { return s.watchBudget.Use().Used == 0 })
			toCancel, cancel := context.WithCancel(ctx)
			stands, ended := follow(toCancel, f, WatchQuery{}, func(FeatureEvent) bool { return true })
			<-stands
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			eventually(t, "the watcher is gone", func() bool { return s.watchBudget.Use().Used == 0 })
			// A waiting request answers with the events before the drop; the next one
			// with its error.
			n := 0
			stands, ended = follow(t.Context(), f, WatchQuery{}, func(FeatureEvent) bool { n++; return true })
			<-stands
			if how != "local" {
				eventually(t, "a request waits", func() bool { return requestsWait(&s.watchSets) == 1 })
			}
			put("b")
			if ok, err := s.DropCollection(testFeatures); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if err := <-ended; !errors.Is(err, ErrUnknownCollection) || n != 1 {
				t.Errorf("after the drop: %d events, %v", n, err)
			}
		})
	}
}

// requestsWait returns how many requests own a watcher.
func requestsWait(ws *watchSets) (n int) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for set := range ws.sets {
		set.mu.Lock()
		for _, w := range set.have {
			if w.stop != nil {
				n++
			}
		}
		set.mu.Unlock()
	}
	return n
}

// longFilter costs more than a filter may.
const longFilter = `[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20].all(a, [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20].all(b, ` +
	`[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20].all(c, [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20].all(d, ` +
	`[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20].all(e, a+b+c+d+e > 0 && properties.n == "x")))))`

// A watch continues after a restart of the server with the same data directory,
// without losing or repeating an event; without one the client gets an error.
func TestWatchRestart(t *testing.T) {
	for _, kept := range []bool{true, false} {
		for _, how := range allTransports {
			t.Run(fmt.Sprintf("%s/kept=%v", how, kept), func(t *testing.T) {
				l := &lives{t: t, opts: ServerOptions{
					Listen: ownAddr(), SocketPath: t.TempDir() + "/s", SlabBytes: 16 << 20, Logger: quiet(),
					Transports: offered, Fabric: testFabric, Features: map[string]FeaturesOptions{testFeatures: {}},
					Sync: disk.SyncInterval(time.Hour),
				}}
				if kept {
					l.opts.DataDir = t.TempDir()
				}
				l.start()
				defer func() { l.stop() }()
				ready := func() *Features {
					if err := l.WaitReady(t.Context()); err != nil {
						t.Fatal(err)
					}
					return watchedBy(t, l.Server, "local")
				}
				f := ready()
				put := func(n int) {
					p := Feature{ID: fmt.Sprint("p", n), Geometry: orb.Point{1, 1}}
					if _, _, err := f.Put(t.Context(), p, kv.Condition{}); err != nil {
						t.Fatal(err)
					}
				}
				c := dialFeatures(t, l.Server, messagesOnly(how))
				var got []string
				one := make(chan struct{})
				stands, ended := follow(t.Context(), c, WatchQuery{}, func(e FeatureEvent) bool {
					if got = append(got, e.ID); len(got) == 1 {
						close(one)
					}
					return len(got) < 8
				})
				<-stands
				put(0)
				<-one
				put(1)
				l.restart()
				f = ready()
				for n := 2; n < 5; n++ {
					put(n)
				}
				l.restart()
				f = ready()
				for n := 5; n < 8; n++ {
					put(n)
				}
				err := <-ended
				if !kept {
					if !errors.Is(err, store.ErrLagged) {
						t.Errorf("%q, %v", got, err)
					}
					return
				}
				if want := []string{"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"}; err != nil || !slices.Equal(got, want) {
					t.Errorf("%q, %v", got, err)
				}
			})
		}
	}
}

// noPlace refuses the first requests of a kind, as a full ring does.
type noPlace struct {
	caller
	kind fastmsg.Kind
	left atomic.Int64
}

func (c *noPlace) Call(ctx context.Context, kind fastmsg.Kind, p, dst []byte) ([]byte, fastmsg.Kind, error) {
	if kind == c.kind && c.left.Add(-1) >= 0 {
		return dst, 0, fmt.Errorf("%w: %w", ErrNotSent, fastmsg.ErrInFlight)
	}
	return c.caller.Call(ctx, kind, p, dst)
}

// A watch whose requests get no place in time, at its begin or later, continues over
// the same connection when there is one, as does a watch whose collection could not
// be opened.
func TestWatchRetriesRefusedRequests(t *testing.T) {
	for name, c := range map[string]struct {
		kind  fastmsg.Kind
		later bool
	}{"opens": {kindOpen, false}, "begins": {kindWatch, false}, "stands": {kindWatch, true}} {
		t.Run(name, func(t *testing.T) {
			s := startFeatures(t, ServerOptions{Workers: 1})
			f := dialFeatures(t, s, messagesOnly(TransportTCP))
			var no *noPlace
			defer callBySome(f.be.(*remoteFeatures).c, func(inner caller) caller {
				no = &noPlace{caller: inner, kind: c.kind}
				return no
			})()
			if !c.later {
				no.left.Store(3)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for e, err := range f.Watch(ctx, WatchQuery{Progress: true}) {
				switch {
				case err != nil:
					t.Fatal(err)
				case e.Kind == query.Progress:
					if c.later {
						no.left.Store(3)
					}
					p := Feature{ID: "x", Geometry: orb.Point{1, 1}}
					if _, _, err := watchedBy(t, s, "local").Put(ctx, p, kv.Condition{}); err != nil {
						t.Fatal(err)
					}
					continue
				}
				break
			}
			if left := no.left.Load(); left >= 0 {
				t.Errorf("%d more could have been without a place", left)
			}
		})
	}
}
