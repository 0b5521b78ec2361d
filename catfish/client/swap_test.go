package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
)

// shortLease is the name lease in tests of swaps.
const shortLease = 20 * time.Millisecond

// fill stores n features that name their collection.
func fill(t testing.TB, c *Client, name string, n int) {
	t.Helper()
	if err := c.CreateFeatures(t.Context(), name, model.FeaturesOptions{}); err != nil {
		t.Fatal(err)
	}
	f, err := c.Features(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		place := model.Feature{ID: fmt.Sprint(i), Geometry: orb.Point{1, float64(i)}, Properties: json.RawMessage(`{"of":"` + name + `"}`)}
		if _, _, err := f.Put(t.Context(), place, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSwap: once a swap has returned, every read sees it, by message and by offloading:
// searches, gets by ids whose references are kept, counts.
func TestSwap(t *testing.T) {
	for _, p := range kvPaths() {
		t.Run(p.name, func(t *testing.T) {
			s := startServer(t, server.WithServerHooks(server.Options{}, func(h *wire.ServerHooks) { h.NameLease = shortLease }))
			o := p.options()
			o = WithHooks(o, func(h *wire.ClientHooks) { h.NameLease, h.KeepYoung = shortLease, true })
			c := dial(t, s, o)
			fill(t, c, "a", 5)
			fill(t, c, "b", 7)
			ctx := t.Context()
			look := func(name, want string, n int) {
				t.Helper()
				f, err := c.Features(name)
				if err != nil {
					t.Fatal(err)
				}
				got := 0
				for place, err := range f.Search(ctx, model.FeatureQuery{Area: query.Box(0, -1, 2, 20)}) {
					if err != nil || string(place.Properties) != `{"of":"`+want+`"}` {
						t.Fatalf("%q has %s, %v, want what is of %q", name, place.Properties, err, want)
					}
					got++
				}
				place, err := f.Get(ctx, "3")
				if err != nil || got != n || string(place.Properties) != `{"of":"`+want+`"}` {
					t.Fatalf("%q has %d, want %d; %s, %v", name, got, n, place.Properties, err)
				}
				if n := func() int { n, err := f.Count(ctx, model.FeatureQuery{}); _ = err; return n }(); n != got {
					t.Fatalf("%d counted, want %d", n, got)
				}
			}
			for range 3 {
				look("a", "a", 5)
				look("b", "b", 7)
				if err := c.SwapCollections(ctx, "a", "b"); err != nil {
					t.Fatal(err)
				}
				look("a", "b", 7)
				look("b", "a", 5)
				if err := s.SwapCollections(ctx, "b", "a"); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.SwapCollections(ctx, "a", "none"); !errors.Is(err, model.ErrUnknownCollection) {
				t.Error(err)
			}
			if err := c.SwapCollections(ctx, "a", model.DefaultCollection); !errors.Is(err, model.ErrKind) {
				t.Error(err)
			}
			if ok, err := c.DropCollection(ctx, "b"); !ok || err != nil {
				t.Error(ok, err)
			}
			look("a", "a", 5)
		})
	}
}

// TestSwapWhileReading: a client that offloads meanwhile, and does not know of the swap,
// sees it when the swap has returned, not before it began; and each answer is of one of
// the two collections.
func TestSwapWhileReading(t *testing.T) {
	for _, p := range kvPaths() {
		t.Run(p.name, func(t *testing.T) {
			s := startServer(t, server.WithServerHooks(server.Options{}, func(h *wire.ServerHooks) { h.NameLease = shortLease }))
			o := p.options()
			o = WithHooks(o, func(h *wire.ClientHooks) { h.NameLease = shortLease })
			c := dial(t, s, o)
			fill(t, c, "a", 3)
			fill(t, c, "b", 3)
			f, err := c.Features("a")
			if err != nil {
				t.Fatal(err)
			}
			var begun, done atomic.Int64 // swaps
			var all sync.WaitGroup
			defer all.Wait()
			swapped := make(chan struct{})
			all.Go(func() {
				defer close(swapped)
				for range 4 {
					begun.Add(1)
					if err := s.SwapCollections(t.Context(), "a", "b"); err != nil {
						t.Error(err)
					}
					done.Add(1)
				}
			})
			for on := true; on; {
				select {
				case <-swapped:
					on = false // once more
				default:
				}
				before := done.Load()
				of := map[string]int{}
				for place, err := range f.Search(t.Context(), model.FeatureQuery{Area: query.Box(0, -1, 2, 20)}) {
					if err != nil {
						t.Fatal(err)
					}
					of[string(place.Properties)]++
				}
				after := begun.Load()
				if len(of) != 1 {
					t.Fatalf("an answer of %v", of)
				}
				if is := int64(of[`{"of":"b"}`] / 3); after == before && is != before%2 {
					t.Fatalf("after %d swaps it has %v", before, of)
				}
			}
		})
	}
}

// TestSwapFixed: a name with options from the server's owner gets no data with other options.
func TestSwapFixed(t *testing.T) {
	s := startServer(t, server.Options{
		Features: map[string]model.FeaturesOptions{"a": {}, "b": {Title: "other"}}, Transports: []string{model.TransportSoft},
	})
	if err := s.SwapCollections(t.Context(), "a", "b"); !errors.Is(err, model.ErrNotPermitted) {
		t.Error(err)
	}
	c := dial(t, s, Options{Policy: "tcp"})
	fill(t, c, "c", 1)
	if err := c.SwapCollections(t.Context(), "a", "c"); err != nil {
		t.Fatal(err)
	}
	// Permissions stay with names.
	if _, err := c.DropCollection(t.Context(), "a"); !errors.Is(err, model.ErrNotPermitted) {
		t.Error(err)
	}
	if ok, err := c.DropCollection(t.Context(), "c"); !ok || err != nil {
		t.Error(ok, err)
	}
	closed := startServer(t, server.Options{ClientCollections: -1, Transports: []string{model.TransportSoft}})
	if err := dial(t, closed, Options{Policy: "tcp"}).SwapCollections(t.Context(), "a", "b"); !errors.Is(err, model.ErrNotPermitted) {
		t.Error(err)
	}
}

// TestSwapKept: a name in a data directory means the same collection after a restart.
func TestSwapKept(t *testing.T) {
	dir := t.TempDir()
	start := func() (*server.Server, *Client) {
		s := startServer(t, server.Options{DataDir: dir, Transports: []string{model.TransportSoft}})
		if err := s.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s, dial(t, s, Options{Policy: "tcp"})
	}
	s, c := start()
	fill(t, c, "a", 2)
	fill(t, c, "b", 3)
	if err := c.SwapCollections(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	c.Close()
	s.Close()
	_, c = start()
	for name, n := range map[string]int{"a": 3, "b": 2} {
		f, err := c.Features(name)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := f.Describe(t.Context()); err != nil || d.Features != n || d.Name != name {
			t.Errorf("%+v, %v, want %d", d, err, n)
		}
	}
}

// TestSwapBetweenWatchRequests: a watch whose caller handles an event while names are
// swapped, or the collection is dropped, ends in the same way as a waiting watch.
func TestSwapBetweenWatchRequests(t *testing.T) {
	for _, how := range watchPaths {
		t.Run(how, func(t *testing.T) {
			s := startServer(t, server.WithServerHooks(server.Options{}, func(h *wire.ServerHooks) { h.NameLease = shortLease }))
			c := dial(t, s, messagesOnly(cmp.Or(strings.TrimPrefix(how, "local"), model.TransportTCP)))
			for name, want := range map[string]error{"swapped": store.ErrLagged, "made again": store.ErrLagged, "dropped": model.ErrUnknownCollection} {
				fill(t, c, "a", 1)
				fill(t, c, "b", 1)
				f, err := c.Features("a")
				if err != nil {
					t.Fatal(err)
				}
				if how == "local" {
					of, err := s.Features("a")
					if err != nil {
						t.Fatal(err)
					}
					f = server.FeaturesOf(of)
					if name == "made again" {
						want = model.ErrUnknownCollection // The watch is of the collection, not of the name.
					}
				}
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				var last error
				for e, err := range f.Watch(ctx, model.WatchQuery{Progress: true}) {
					last = err
					switch {
					case err != nil:
					case e.Kind == query.Progress:
						_, _, err = f.Put(ctx, model.Feature{ID: "x", Geometry: orb.Point{1, 1}}, kv.Condition{})
					case name == "swapped":
						err = s.SwapCollections(ctx, "a", "b")
					default:
						if _, err = s.DropCollection("a"); err == nil && name == "made again" {
							err = c.CreateFeatures(ctx, "a", model.FeaturesOptions{})
						}
					}
					if err != nil && last == nil {
						t.Fatal(err)
					}
				}
				if !errors.Is(last, want) {
					t.Errorf("%s: ends with %v, want %v", name, last, want)
				}
				for _, name := range []string{"a", "b"} {
					if _, err := s.DropCollection(name); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}
