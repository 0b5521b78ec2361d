package remote

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/internal/readtest"
	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a server's tree of three levels, and a client's Reader of it.
type site struct {
	server *rstar.Tree
	tree   *Tree
	reader *Reader
}

func newSite(t *testing.T, cached bool, limits Limits) *site {
	t.Helper()
	srv := readtest.Serve(t, 4<<20)
	s := &site{}
	var err error
	if s.server, err = rstar.New(rstar.Options{NodeBytes: 704, Memory: srv.Bytes(), BootID: 7}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.server.Close() })
	for _, it := range scattered(1, threeLevels) {
		if err := s.server.Insert(it.Rect, it.ID); err != nil {
			t.Fatal(err)
		}
	}
	s.reader = NewReader(srv.Dial(704+64, 16), limits)
	s.tree = &Tree{Base: srv.Remote(), Bytes: 4 << 20, NodeBytes: 704, BootID: 7}
	if cached {
		s.tree.Cache = NewCache(cacheBytes, 704)
	}
	return s
}

func (s *site) want(q rstar.Rect) []rstar.Item { return byID(s.server.SearchAppend(nil, q, 0)) }

func byID(items []rstar.Item) []rstar.Item {
	slices.SortFunc(items, func(a, b rstar.Item) int { return int(a.ID) - int(b.ID) })
	return items
}

func eachSite(t *testing.T, limits Limits, f func(t *testing.T, s *site)) {
	for _, cached := range []bool{false, true} {
		name := "plain"
		if cached {
			name = "cached"
		}
		t.Run(name, func(t *testing.T) { f(t, newSite(t, cached, limits)) })
	}
}

// TestReader: all searches give the tree's own answers, and do not change the previous
// content of the caller's slices.
func TestReader(t *testing.T) {
	eachSite(t, Limits{}, func(t *testing.T, s *site) {
		r := rand.New(rand.NewPCG(21, 1))
		own := rstar.Item{ID: 1 << 50}
		for range 200 {
			q := someQuery(r)
			want := s.want(q)
			got, err := s.reader.Search(t.Context(), s.tree, q, 0, []rstar.Item{own})
			if err != nil || got[0] != own || !slices.Equal(byID(got[1:]), want) {
				t.Fatalf("search %v: %d objects, %v, want %d", q, len(got)-1, err, len(want))
			}
			got, err = s.reader.Search(t.Context(), s.tree, q, 3, nil)
			if err != nil || len(got) != min(3, len(want)) {
				t.Fatalf("search %v, limit 3: %d objects, %v, of %d", q, len(got), err, len(want))
			}
			if n, err := s.reader.Count(t.Context(), s.tree, q); n != len(want) || err != nil {
				t.Fatalf("count %v: %d, %v, want %d", q, n, err, len(want))
			}
			near, err := s.reader.Nearest(t.Context(), s.tree, q.MinX, q.MinY, 5, nil)
			if err != nil || len(near) != 5 || !slices.IsSortedFunc(near, Neighbor.Compare) {
				t.Fatalf("nearest: %v, %v", near, err)
			}
			i := 0
			s.server.Nearest(q.MinX, q.MinY, func(_ rstar.Rect, _ uint64, dist float64) bool {
				if near[i].Dist != dist {
					t.Errorf("nearest: number %d at %v, want %v", i, near[i].Dist, dist)
				}
				i++
				return i < len(near)
			})
		}
	})
}

// TestReaderMany: the searches of one walk answer what each alone does, and
// stop after the one that exceeds Limits.Batch.
func TestReaderMany(t *testing.T) {
	const batch = 1000
	eachSite(t, Limits{Batch: batch}, func(t *testing.T, s *site) {
		r := rand.New(rand.NewPCG(22, 1))
		rects := make([]rstar.Rect, 3*walksAtOnce)
		for i := range rects {
			rects[i] = someQuery(r)
		}
		all := rects
		for calls := 0; len(rects) > 0; calls++ {
			items, counts, err := s.reader.SearchMany(t.Context(), s.tree, rects, nil, nil)
			if err != nil || len(counts) == 0 {
				t.Fatal(len(counts), err)
			}
			if len(items) <= batch && len(counts) < len(rects) {
				t.Fatalf("stopped after %d objects, want more than %d", len(items), batch)
			}
			for i, n := range counts {
				if !slices.Equal(byID(items[:n]), s.want(rects[i])) {
					t.Fatalf("search %v: %d objects", rects[i], n)
				}
				items = items[n:]
			}
			rects = rects[len(counts):]
		}
		large := slices.Concat([]rstar.Rect{{MaxX: 2, MaxY: 2}}, all)
		if _, counts, err := s.reader.SearchMany(t.Context(), s.tree, large, nil, nil); len(counts) > walksAtOnce || err != nil {
			t.Errorf("%d searches, %v, after one that exceeds the limit by itself", len(counts), err)
		}
	})
}

// TestReaderFails: the errors of a search, after which the caller's slices are
// unchanged, and the Reader is usable.
func TestReaderFails(t *testing.T) {
	all := rstar.Rect{MaxX: 2, MaxY: 2}
	own := []rstar.Item{{ID: 1 << 50}}
	s := newSite(t, true, Limits{Items: threeLevels / 2})
	check := func(name string, tree *Tree, want error) {
		t.Helper()
		got, err := s.reader.Search(t.Context(), tree, all, 0, own)
		if !errors.Is(err, want) || !slices.Equal(got, own) {
			t.Errorf("%s: %d objects, %v, want %v", name, len(got), err, want)
		}
		got, counts, err := s.reader.SearchMany(t.Context(), tree, []rstar.Rect{all, all}, own, []uint32{1})
		if !errors.Is(err, want) || !slices.Equal(got, own) || !slices.Equal(counts, []uint32{1}) {
			t.Errorf("%s: %d objects, %v, %v, want %v", name, len(got), counts, err, want)
		}
	}
	other := func(change func(*Tree)) *Tree {
		tree := &Tree{Base: s.tree.Base, Bytes: s.tree.Bytes, NodeBytes: s.tree.NodeBytes, BootID: s.tree.BootID}
		change(tree)
		return tree
	}
	check("too many objects", s.tree, ErrTooLarge)
	check("another boot id", other(func(t *Tree) { t.BootID++ }), ErrServerChanged)
	check("another node size", other(func(t *Tree) { t.NodeBytes += 64 }), ErrProtocol)
	check("less memory", other(func(t *Tree) { t.Bytes /= 64 }), ErrGrown)
	if n, err := s.reader.Count(t.Context(), s.tree, all); n != threeLevels || err != nil {
		t.Errorf("afterwards it counts %d, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = s.reader.Count(ctx, s.tree, all) // it may end before it checks ctx
	if s.reader.Err() != nil {
		t.Errorf("the channel is lost: %v", s.reader.Err())
	}
}

// TestReaderStats: Stats is of the last search only, and OnWalk sees each
// walk.
func TestReaderStats(t *testing.T) {
	s := newSite(t, true, Limits{})
	q := rstar.Rect{MinX: 0.4, MinY: 0.4, MaxX: 0.6, MaxY: 0.6}
	walks := 0
	s.reader.OnWalk = func(own time.Duration) { walks++ }
	var st [3]offload.Stats
	for i := range st {
		if _, err := s.reader.Count(t.Context(), s.tree, q); err != nil {
			t.Fatal(err)
		}
		st[i] = s.reader.Stats()
	}
	if st[0].Cached != 0 || st[0].RoundTrips < 3 || st[1].Cached == 0 || st[1].RoundTrips != 1 || st[1] != st[2] {
		t.Errorf("%+v", st)
	}
	if walks != len(st) {
		t.Errorf("OnWalk was called %d times for %d walks", walks, len(st))
	}
}

// TestReaderKnownRoot: a search reads a node of each level and nothing else once the
// header is known, also where the tree has changed since; then some begin again, and
// none misses an object. A header that knows less of the slab ends no search either.
func TestReaderKnownRoot(t *testing.T) {
	s := newSite(t, false, Limits{})
	s.tree.KnownRoot = true
	at := rstar.Rect{MinX: 3, MinY: 3, MaxX: 3, MaxY: 3}
	search := func(header uint64) uint64 {
		t.Helper()
		got, err := s.reader.Search(t.Context(), s.tree, at, 0, nil)
		if err != nil || !slices.Equal(byID(got), s.want(at)) {
			t.Fatalf("%d objects, want %d, %v", len(got), len(s.want(at)), err)
		}
		st := s.reader.Stats()
		if h := st.Restarts + header; st.Bytes != (st.Reads-h)*704+h*rstar.HeaderBytes {
			t.Fatalf("%+v, want %d of the header", st, h)
		}
		return st.Restarts
	}
	if err := s.server.Insert(at, 1<<40); err != nil {
		t.Fatal(err)
	}
	height := s.server.Stats().Height
	search(1)
	search(0)
	restarts, id := uint64(0), uint64(1<<41)
	for ; s.server.Stats().Height == height; id++ {
		if err := s.server.Insert(rstar.Rect{MinX: 3, MinY: 3, MaxX: 3 + float64(id%7), MaxY: 3}, id); err != nil {
			t.Fatal(err)
		}
		restarts += search(0)
	}
	if restarts == 0 {
		t.Error("the root was split, and no search began again")
	}
	known := *s.tree.known.Load()
	known.Chunks = uint64(known.Root)
	s.tree.known.Store(&known)
	all := rstar.Rect{MaxX: 20, MaxY: 20}
	if n, err := s.reader.Count(t.Context(), s.tree, all); n != s.server.Len() || err != nil {
		t.Errorf("counted %d of %d, %v", n, s.server.Len(), err)
	}
}

// TestReaderAllocatesNothing: once the header is known and the cache is warm,
// no search allocates anything but room for results.
func TestReaderAllocatesNothing(t *testing.T) {
	eachSite(t, Limits{}, func(t *testing.T, s *site) {
		if raceFactor > 1 {
			return // the race detector allocates
		}
		q := rstar.Rect{MinX: 0.4, MinY: 0.4, MaxX: 0.45, MaxY: 0.45}
		rects := []rstar.Rect{q, q, q}
		items := make([]rstar.Item, 0, threeLevels)
		near := make([]Neighbor, 0, 10)
		counts := make([]uint32, 0, len(rects))
		var est Estimator
		all := func() {
			if _, err := s.reader.Search(context.Background(), s.tree, q, 0, items); err != nil {
				t.Fatal(err)
			}
			if _, err := s.reader.Count(context.Background(), s.tree, q); err != nil {
				t.Fatal(err)
			}
			if _, err := s.reader.Nearest(context.Background(), s.tree, 0.5, 0.5, 10, near); err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.reader.SearchMany(context.Background(), s.tree, rects, items, counts); err != nil {
				t.Fatal(err)
			}
			if s.tree.Cache != nil {
				var e Estimate
				est.Add(&e, s.tree, &q)
			}
		}
		all()
		if n := testing.AllocsPerRun(100, all); n > 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// TestReaderAny: a search of several rectangles finds each object once, also where
// copies of nodes are old. A later search of one rectangle finds all of its objects.
func TestReaderAny(t *testing.T) {
	eachSite(t, Limits{}, func(t *testing.T, s *site) {
		r := rand.New(rand.NewPCG(24, 1))
		own := rstar.Item{ID: 1 << 50}
		for i := range 200 {
			qs := []rstar.Rect{someQuery(r), someQuery(r), someQuery(r)}[:2+r.IntN(2)]
			want := s.server.SearchAppend(nil, rstar.Rect{MaxX: 2, MaxY: 2}, 0)
			want = byID(slices.DeleteFunc(want, func(it rstar.Item) bool { return !slices.ContainsFunc(qs, it.Rect.Intersects) }))
			got, err := s.reader.SearchAny(t.Context(), s.tree, qs, 0, []rstar.Item{own})
			if err != nil || got[0] != own || !slices.Equal(byID(got[1:]), want) {
				t.Fatalf("search %v: %d objects, %v, want %d", qs, len(got)-1, err, len(want))
			}
			if got, err := s.reader.Search(t.Context(), s.tree, qs[0], 0, nil); err != nil || !slices.Equal(byID(got), s.want(qs[0])) {
				t.Fatalf("search %v after one of several: %d objects, %v", qs[0], len(got), err)
			}
			if i%10 == 9 { // Copies grow old.
				for range 20 {
					q := someQuery(r)
					if err := s.server.Insert(rstar.Rect{MinX: q.MinX, MinY: q.MinY, MaxX: q.MinX, MaxY: q.MinY}, 1<<40+r.Uint64N(1<<40)); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	})
}
