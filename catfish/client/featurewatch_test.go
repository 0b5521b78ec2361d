package client

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

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
)

// watchPaths are all ways to watch a server's features: by message, and in process.
var watchPaths = append([]string{"local"}, allTransports...)

func watchedBy(t testing.TB, s *server.Server, how string) *model.Features {
	t.Helper()
	if how == "local" {
		c, err := s.Features(testFeatures)
		if err != nil {
			t.Fatal(err)
		}
		return server.FeaturesOf(c)
	}
	return dialFeatures(t, s, messagesOnly(how))
}

// TestWatchHistories: while movers of all paths move, watchers of all paths follow an
// area from a first search on, and lose their connections. Each must end with the state
// that a search finds, and get the events of a watcher that loses nothing: none is
// missing, none comes twice.
func TestWatchHistories(t *testing.T) {
	s := startFeatures(t, server.Options{Workers: 2})
	ctx := t.Context()
	area := model.FeatureQuery{Area: query.Box(-5, -5, 5, 5), Filter: "properties.n != 3"}
	movers, moves := 4, max(300/catfishtest.RaceFactor, 60)

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
	begin := func(name string, f *model.Features, cut func(n int)) {
		w := &follower{name: name, has: map[string]uint64{}}
		var stands chan struct{}
		first := true
		stands, w.ended = follow(ctx, f, model.WatchQuery{Query: area, Progress: true}, func(e model.FeatureEvent) bool {
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
			w.conn = clientOf(f).conn
		}
		all = append(all, w)
	}
	begin("reference", watchedBy(t, s, "local"), nil)

	var moving sync.WaitGroup
	var uncut atomic.Int32 // watchers whose connection must still be lost
	uncut.Store(int32(len(watchPaths) - 1))
	half := make(chan struct{})
	var once sync.Once
	for i := range movers {
		f := watchedBy(t, s, watchPaths[i%len(watchPaths)])
		moving.Go(func() {
			rng := rand.New(rand.NewPCG(5, uint64(i)))
			for n := 0; n < moves || uncut.Load() > 0 && n < 100*moves; n++ {
				id := fmt.Sprint("mover ", rng.IntN(12))
				var err error
				if rng.IntN(5) == 0 {
					if _, err = f.Delete(ctx, id, kv.Condition{}); errors.Is(err, kv.ErrNotFound) {
						err = nil
					}
				} else {
					_, _, err = f.Put(ctx, model.Feature{
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
				conn := clientOf(f).conn
				cut = func(n int) {
					if n == 7 {
						uncut.Add(-1)
					}
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
	if _, _, err := last.Put(ctx, model.Feature{ID: "end", Geometry: orb.Point{}, Properties: []byte(`{"n":0}`)}, kv.Condition{}); err != nil {
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

// A watch continues after a restart of the server with the same data directory,
// without losing or repeating an event; without one the client gets an error.
func TestWatchRestart(t *testing.T) {
	for _, kept := range []bool{true, false} {
		for _, how := range allTransports {
			t.Run(fmt.Sprintf("%s/kept=%v", how, kept), func(t *testing.T) {
				l := &lives{t: t, opts: server.Options{
					Listen: ownAddr(), SocketPath: t.TempDir() + "/s", SlabBytes: 16 << 20, Logger: quiet(),
					Transports: offered, Fabric: testFabric, Features: map[string]model.FeaturesOptions{testFeatures: {}},
					Sync: disk.SyncInterval(time.Hour),
				}}
				if kept {
					l.opts.DataDir = t.TempDir()
				}
				l.start()
				defer func() { l.stop() }()
				ready := func() *model.Features {
					if err := l.WaitReady(t.Context()); err != nil {
						t.Fatal(err)
					}
					return watchedBy(t, l.Server, "local")
				}
				f := ready()
				put := func(n int) {
					p := model.Feature{ID: fmt.Sprint("p", n), Geometry: orb.Point{1, 1}}
					if _, _, err := f.Put(t.Context(), p, kv.Condition{}); err != nil {
						t.Fatal(err)
					}
				}
				c := dialFeatures(t, l.Server, messagesOnly(how))
				var got []string
				one := make(chan struct{})
				stands, ended := follow(t.Context(), c, model.WatchQuery{}, func(e model.FeatureEvent) bool {
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
		return dst, 0, fmt.Errorf("%w: %w", model.ErrNotSent, fastmsg.ErrInFlight)
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
	}{"opens": {wire.KindOpen, false}, "begins": {wire.KindWatch, false}, "stands": {wire.KindWatch, true}} {
		t.Run(name, func(t *testing.T) {
			s := startFeatures(t, server.Options{Workers: 1})
			f := dialFeatures(t, s, messagesOnly(model.TransportTCP))
			var no *noPlace
			defer callBySome(clientOf(f), func(inner caller) caller {
				no = &noPlace{caller: inner, kind: c.kind}
				return no
			})()
			if !c.later {
				no.left.Store(3)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for e, err := range f.Watch(ctx, model.WatchQuery{Progress: true}) {
				switch {
				case err != nil:
					t.Fatal(err)
				case e.Kind == query.Progress:
					if c.later {
						no.left.Store(3)
					}
					p := model.Feature{ID: "x", Geometry: orb.Point{1, 1}}
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

// endedCaller closes itself under a request for events, as a client closes the connection to a
// server that is no longer the primary.
type endedCaller struct {
	caller
	ends atomic.Bool
}

func (c *endedCaller) Call(ctx context.Context, kind fastmsg.Kind, p, dst []byte) ([]byte, fastmsg.Kind, error) {
	if kind == wire.KindWatch && c.ends.CompareAndSwap(true, false) {
		c.caller.Close()
		return dst, 0, fmt.Errorf("%w: %w", model.ErrUnknownOutcome, model.ErrClosed)
	}
	return c.caller.Call(ctx, kind, p, dst)
}

// A watch goes on when its client closes a session under it, and ends with ErrClosed when the
// client is closed.
func TestWatchOutlivesItsSession(t *testing.T) {
	for _, transport := range allTransports {
		t.Run(transport, func(t *testing.T) {
			s := startFeatures(t, server.Options{Workers: 1})
			f := dialFeatures(t, s, messagesOnly(transport))
			var ending *endedCaller
			defer callBySome(clientOf(f), func(inner caller) caller {
				ending = &endedCaller{caller: inner}
				return ending
			})()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var last error
			events := 0
			for e, err := range f.Watch(ctx, model.WatchQuery{Progress: true}) {
				switch {
				case err != nil:
					last = err
				case e.Kind != query.Progress:
					events++
					clientOf(f).Close()
				case events == 0:
					ending.ends.Store(true)
					p := model.Feature{ID: "x", Geometry: orb.Point{1, 1}}
					if _, _, err := watchedBy(t, s, "local").Put(ctx, p, kv.Condition{}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if events != 1 || !errors.Is(last, model.ErrClosed) {
				t.Errorf("%d events, %v", events, last)
			}
		})
	}
}
