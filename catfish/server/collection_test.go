package server

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// TestManageCollections: a client creates, lists and drops collections by every
// path; the number of a dropped one leads to no other.
func TestManageCollections(t *testing.T) {
	for _, p := range append(paths(), pollingPaths()...) {
		t.Run(p.name, func(t *testing.T) {
			s := startServer(t, Options{SlabBytes: 1 << 20, Collections: []string{"fixed"}})
			c := dial(t, s, p.options())
			for range 2 { // once more changes nothing
				if err := c.CreateCollection(t.Context(), "roads"); err != nil {
					t.Fatal(err)
				}
			}
			roads, err := c.Collection("roads")
			if err != nil {
				t.Fatal(err)
			}
			for i := range 100 {
				if err := roads.Insert(t.Context(), square(float64(i), 0), uint64(i)); err != nil {
					t.Fatal(err)
				}
			}
			world := rstar.Rect{MaxX: 1e4, MaxY: 1e4}
			if n, err := roads.Count(t.Context(), world); n != 100 || err != nil {
				t.Fatal(n, err)
			}
			l, err := c.Collections(t.Context())
			if err != nil || len(l) != 3 || l[2].Name != "roads" || l[2].Objects != 100 || l[2].Loading {
				t.Fatalf("%+v, %v", l, err)
			}
			before := numberOf(t, s, "roads")
			if ok, err := c.DropCollection(t.Context(), "roads"); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if ok, err := c.DropCollection(t.Context(), "roads"); ok || err != nil {
				t.Fatal("dropped twice", err)
			}
			if n, err := roads.Count(t.Context(), world); !errors.Is(err, model.ErrUnknownCollection) || !client.RetrySafe(err) {
				t.Errorf("count in a dropped collection: %d, %v", n, err)
			}
			if err := roads.Insert(t.Context(), square(0, 0), 1); !errors.Is(err, model.ErrUnknownCollection) || !client.RetrySafe(err) {
				t.Errorf("insert into a dropped collection: %v", err)
			}
			// A new collection of that name is another one.
			if err := c.CreateCollection(t.Context(), "roads"); err != nil {
				t.Fatal(err)
			}
			if n, err := roads.Count(t.Context(), world); n != 0 || err != nil {
				t.Errorf("a new collection has %d objects, %v", n, err)
			}
			if after := numberOf(t, s, "roads"); after == before {
				t.Errorf("number %d was used again", after)
			}
			for _, name := range []string{model.DefaultCollection, "fixed"} {
				if _, err := c.DropCollection(t.Context(), name); !errors.Is(err, model.ErrNotPermitted) {
					t.Errorf("drop of %s: %v", name, err)
				}
			}
			if ok, err := s.DropCollection("fixed"); !ok || err != nil {
				t.Errorf("the owner drops: %v, %v", ok, err)
			}
			if n := c.Counters().Reconnects; n != 0 && p.transport != model.TransportOFI {
				t.Errorf("%d reconnects", n)
			}
		})
	}
}

// TestCollectionLimits: clients create as many as one host may, and none if
// the server's are fixed. Dropped ones do not count.
func TestCollectionLimits(t *testing.T) {
	s := startServer(t, Options{SlabBytes: 512 << 10, ClientCollections: 3})
	for _, tr := range append([]string{model.TransportTCP}, oneSided...) {
		c := dial(t, s, client.Options{Transport: tr})
		other := dial(t, s, client.Options{Transport: tr})
		for i := range 3 {
			if err := c.CreateCollection(t.Context(), fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []*client.Client{c, other} {
			if err := c.CreateCollection(t.Context(), "more"); !errors.Is(err, model.ErrBusy) || !client.RetrySafe(err) {
				t.Fatalf("%s: a fourth collection: %v", tr, err)
			}
			if err := c.CreateCollection(t.Context(), "2"); err != nil {
				t.Fatalf("%s: one that is there: %v", tr, err)
			}
		}
		for i := range 3 {
			if ok, err := c.DropCollection(t.Context(), fmt.Sprint(i)); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		waitDropped(s)
	}
	fixed := startServer(t, Options{ClientCollections: -1})
	if err := dial(t, fixed, client.Options{}).CreateCollection(t.Context(), "a"); !errors.Is(err, model.ErrNotPermitted) {
		t.Errorf("fixed collections: %v", err)
	}
	if _, err := fixed.CreateCollection("a"); err != nil {
		t.Errorf("the owner creates: %v", err)
	}
}

// TestDropUnderSearches: while a collection is created and dropped, each search finds
// all of its objects, or fails because it was dropped.
func TestDropUnderSearches(t *testing.T) {
	const objects = 300
	world := rstar.Rect{MaxX: 1e4, MaxY: 1e4}
	items := make([]rstar.Item, objects)
	for i := range items {
		items[i] = rstar.Item{Rect: square(float64(i), 0), ID: uint64(i)}
	}
	for _, p := range paths() {
		t.Run(p.name, func(t *testing.T) {
			s := startServer(t, Options{SlabBytes: 1 << 20})
			base := dial(t, s, p.options())
			c, err := base.Collection("churn")
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			var wg sync.WaitGroup
			var mu sync.Mutex
			found := map[int]int{}
			for i := range 3 {
				wg.Go(func() {
					for {
						select {
						case <-done:
							return
						default:
						}
						var n int
						var err error
						switch i {
						case 0:
							n, err = c.Count(t.Context(), world)
						case 1:
							var got []rstar.Item
							got, err = c.Search(t.Context(), world)
							n = len(got)
						case 2:
							err = c.SearchMany(t.Context(), []rstar.Rect{world, world}, func(_ int, got []rstar.Item) error {
								n = len(got)
								return nil
							})
						}
						switch {
						case errors.Is(err, model.ErrUnknownCollection), errors.Is(err, model.ErrNotReady):
							n = -1
						case err != nil:
							t.Errorf("search: %v", err)
							return
						case n != objects:
							t.Errorf("%d objects, want %d", n, objects)
							return
						}
						mu.Lock()
						found[n]++
						mu.Unlock()
					}
				})
			}
			// await waits until a search has that result.
			await := func(n int) {
				mu.Lock()
				defer mu.Unlock()
				for before := found[n]; found[n] == before && !t.Failed(); {
					mu.Unlock()
					runtime.Gosched()
					mu.Lock()
				}
			}
			for range 10 {
				churn, err := s.store.Create("churn", store.Spec{Kind: store.KindBoxes, Loading: true}) // seen only when it is full
				if err != nil {
					t.Fatal(err)
				}
				if err := churn.Tree.Load(items); err != nil {
					t.Fatal(err)
				}
				if err := s.SetReady("churn"); err != nil {
					t.Fatal(err)
				}
				await(objects)
				if ok, err := s.DropCollection("churn"); !ok || err != nil {
					t.Fatal(ok, err)
				}
				await(-1)
			}
			close(done)
			wg.Wait()
			// libfabric's tcp does not report that a read's key is unknown: it leaves
			// the read without an answer, and the client reconnects.
			if n := base.Counters().Reconnects; n != 0 && p.transport != model.TransportOFI {
				t.Errorf("%d reconnects", n)
			}
		})
	}
}

// TestCollectionNumbers: slots are used again, numbers are not, and an old
// number reaches nothing.
func TestCollectionNumbers(t *testing.T) {
	s := startServer(t, Options{SlabBytes: 512 << 10, Transports: []string{model.TransportSoft}})
	var nums []uint32
	for range 10 {
		if _, err := s.CreateCollection("a"); err != nil {
			t.Fatal(err)
		}
		c, err := s.store.Lookup("a")
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(nums, c.Number) || c.Number%store.MaxCollections != 1 {
			t.Fatalf("number %#x after %#x", c.Number, nums)
		}
		for _, n := range nums {
			if _, err := s.store.ByNumber(n); !errors.Is(err, model.ErrUnknownCollection) {
				t.Fatalf("number %#x leads to %#x", n, c.Number)
			}
		}
		nums = append(nums, c.Number)
		if _, err := s.DropCollection("a"); err != nil {
			t.Fatal(err)
		}
		waitDropped(s)
		if got := s.store.NameOf(c.Number); got != "a" {
			t.Errorf("the recording would call it %q", got)
		}
	}
}

// TestCollectionDroppedDuringRequest: a worker that holds a collection while it is dropped
// does not answer that it is empty.
func TestCollectionDroppedDuringRequest(t *testing.T) {
	s := startServer(t, Options{SlabBytes: 1 << 20})
	tr, err := s.CreateCollection("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Insert(square(0, 0), 1); err != nil {
		t.Fatal(err)
	}
	c, err := s.store.Lookup("a")
	if err != nil {
		t.Fatal(err)
	}
	at := wire.AppendRect(wire.AppendHead(nil, c.Number, 0), square(0, 0))
	v := service{s: s, transport: model.TransportSoft}
	for _, kind := range []fastmsg.Kind{wire.KindSearch, wire.KindCount} {
		var req request
		if err := s.decode(kind, at, &req); err != nil {
			t.Fatal(err)
		}
		if r := v.carryOutUnlessGone(new(peer), &req, nil); r.err != nil {
			t.Fatal(r.err)
		}
		defer func() {
			if r := v.carryOutUnlessGone(new(peer), &req, nil); !errors.Is(r.err, model.ErrUnknownCollection) {
				t.Errorf("kind %d: %x, %v", kind, r.out, r.err)
			}
		}()
	}
	if ok, err := s.DropCollection("a"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	waitDropped(s)
}

// TestOlderServer: a client sends an older server no request that the server does not
// know, and its error says so; where there is another way, the client takes it.
func TestOlderServer(t *testing.T) {
	s := startServer(t, Options{})
	s.mux.hello = func() wire.Hello {
		h := s.hello()
		h.Requests = 0
		return h
	}
	c := dial(t, s, client.Options{Transport: model.TransportSoft, Policy: "fast"})
	if err := c.CreateCollection(t.Context(), "a"); !errors.Is(err, model.ErrVersionMismatch) {
		t.Errorf("create: %v", err)
	}
	if _, err := c.DropCollection(t.Context(), "a"); !errors.Is(err, model.ErrVersionMismatch) {
		t.Errorf("drop: %v", err)
	}
	for i := range 5 {
		if err := c.Insert(t.Context(), square(float64(10*i), 0), uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if near, err := c.NearestWithin(t.Context(), 0, 0, 5, 25); err != nil || len(near) != 3 {
		t.Errorf("within: %v, %v", near, err)
	}
}

// waitDropped waits until the memory of dropped collections is given back.
func waitDropped(s *Server) {
	s.store.WaitFreed()
}

func numberOf(t *testing.T, s *Server, name string) uint32 {
	t.Helper()
	c, err := s.store.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return c.Number
}
