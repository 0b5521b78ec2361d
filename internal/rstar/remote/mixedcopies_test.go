package remote

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// copiesOf is the content of a client's cache after a read of the whole tree.
func copiesOf(t *testing.T, tr *rstar.Tree) (rstar.Header, map[uint64]rstar.Node) {
	t.Helper()
	h, err := rstar.ParseHeader(tr.Memory())
	if err != nil {
		t.Fatal(err)
	}
	s := &Tree{Bytes: uint64(len(tr.Memory())), NodeBytes: 704, BootID: h.BootID, Cache: NewCache(cacheBytes, 704)}
	var w searchWalk
	w.q = rstar.Rect{MinX: -9, MinY: -9, MaxX: 9, MaxY: 9}
	w.restart(s, 0)
	if err := walkBy(t, &w, tr.Memory(), nil); err != nil {
		t.Fatal(err)
	}
	nodes := map[uint64]rstar.Node{}
	for chunk := range h.Chunks {
		if k := s.Cache.nodes.Get(chunk); k != nil {
			nodes[chunk] = k.node
		}
	}
	return h, nodes
}

// mixed calls f with trees in which parents of leaves have just been split, and with
// caches that hold some nodes of before that, and the others of now.
func mixed(t *testing.T, f func(tr *rstar.Tree, old []rstar.Item, before, after rstar.Header, cache *Cache, r *rand.Rand)) {
	tr, err := rstar.New(rstar.Options{NodeBytes: 704, SlabBytes: 2 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	r := rand.New(rand.NewPCG(11, 2))
	items := scattered(1, 6*threeLevels)
	next := 0
	insert := func() {
		if err := tr.Insert(items[next].Rect, items[next].ID); err != nil {
			t.Fatal(err)
		}
		next++
	}
	for next < threeLevels {
		insert()
	}
	for range 40 / raceFactor {
		before, old := copiesOf(t, tr)
		there := next
		for parents := len(old); parents == len(old) && next < len(items); {
			insert()
			if next%8 == 0 {
				_, now := copiesOf(t, tr)
				parents = len(now)
			}
		}
		after, now := copiesOf(t, tr)
		for range 10 {
			cache := NewCache(cacheBytes, 704)
			for chunk, n := range now {
				moves := after.Moves
				if o, ok := old[chunk]; ok && r.IntN(2) == 0 {
					n, moves = o, before.Moves
				}
				cache.nodes.Put(chunk, func(k *cachedNode) {
					k.node = n
					k.confirm(cache.now(), moves)
				})
			}
			f(tr, items[:there], before, after, cache, r)
		}
	}
}

func walkAll(t *testing.T, w interface {
	offload.Traversal
	restart(*Tree, int)
}, s *Tree, mem []byte, r *rand.Rand) {
	t.Helper()
	err := offload.ErrRestart
	for try := 0; try <= MaxRestarts && errors.Is(err, offload.ErrRestart); try++ {
		w.restart(s, try)
		err = walkBy(t, w, mem, r)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestMixedCopiesLimit: a search that reaches its limit by old copies returns
// no object twice.
func TestMixedCopiesLimit(t *testing.T) {
	mixed(t, func(tr *rstar.Tree, _ []rstar.Item, _, after rstar.Header, cache *Cache, r *rand.Rand) {
		var w searchWalk
		for range 20 {
			s := &Tree{Bytes: uint64(len(tr.Memory())), NodeBytes: 704, BootID: after.BootID, Cache: cache}
			s.learn(after)
			w.q, w.items, w.limit = someQuery(r), nil, 0
			w.q.MaxX, w.q.MaxY = w.q.MinX+0.2, w.q.MinY+0.2
			w.limit = 1 + r.IntN(tr.Count(w.q)+1)
			want := min(w.limit, tr.Count(w.q))
			walkAll(t, &w, s, tr.Memory(), r)
			seen := map[uint64]bool{}
			for _, it := range w.items {
				if seen[it.ID] {
					t.Fatalf("limit %d: object %d is found twice", w.limit, it.ID)
				}
				seen[it.ID] = true
			}
			if len(seen) != want {
				t.Fatalf("limit %d: %d objects, want %d", w.limit, len(seen), want)
			}
		}
	})
}

// TestMixedCopiesTrusted: a client that trusts copies, some of which another client has
// replaced after a move unknown to the first, finds each object once that stayed in the
// tree.
func TestMixedCopiesTrusted(t *testing.T) {
	mixed(t, func(tr *rstar.Tree, old []rstar.Item, before, _ rstar.Header, cache *Cache, r *rand.Rand) {
		var w searchWalk
		for range 5 {
			s := &Tree{Bytes: uint64(len(tr.Memory())), NodeBytes: 704, BootID: before.BootID, Cache: cache, Trust: 1e12}
			s.learn(before)
			w.q, w.items = someQuery(r), nil
			w.q.MaxX, w.q.MaxY = w.q.MinX+0.05, w.q.MinY+0.05
			walkAll(t, &w, s, tr.Memory(), r)
			seen := map[uint64]int{}
			for _, it := range w.items {
				seen[it.ID]++
			}
			for _, it := range old {
				if n := seen[it.ID]; it.Rect.Intersects(w.q) && n != 1 {
					t.Fatalf("object %d, there all the time, is found %d times", it.ID, n)
				}
			}
		}
	})
}

// TestMixedCopiesNearest: whatever mixture of copies a search for the nearest
// objects uses, it finds them, each once.
func TestMixedCopiesNearest(t *testing.T) {
	repairs := 0
	mixed(t, func(tr *rstar.Tree, _ []rstar.Item, _, after rstar.Header, cache *Cache, r *rand.Rand) {
		w := nearestWalk{k: 1 + r.IntN(200), within: math.Inf(1)}
		for range 5 {
			s := &Tree{Bytes: uint64(len(tr.Memory())), NodeBytes: 704, BootID: after.BootID, Cache: cache}
			s.learn(after)
			w.x, w.y = r.Float64(), r.Float64()
			walkAll(t, &w, s, tr.Memory(), r)
			repairs += w.repairs
			slices.SortFunc(w.best, Neighbor.Compare)
			var want []float64
			tr.Nearest(w.x, w.y, func(_ rstar.Rect, _ uint64, dist float64) bool {
				want = append(want, dist)
				return len(want) < w.k
			})
			if len(w.best) != len(want) {
				t.Fatalf("%d objects, want %d", len(w.best), len(want))
			}
			seen := map[uint64]bool{}
			for i, n := range w.best {
				if seen[n.ID] || n.Dist != want[i] {
					t.Fatalf("the %d-th of %d nearest is object %d at %v, want %v; seen before: %v",
						i, w.k, n.ID, n.Dist, want[i], seen[n.ID])
				}
				seen[n.ID] = true
			}
		}
	})
	if repairs == 0 {
		t.Error("no copy was repaired: the test shows little")
	}
}

// TestEqualObjectsInFullSlab: a leaf that is read twice, its head first and
// then all of it, counts as named once.
func TestEqualObjectsInFullSlab(t *testing.T) {
	tr, err := rstar.New(rstar.Options{NodeBytes: 704, SlabBytes: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	n := uint64(0)
	for ; err == nil; n++ {
		err = tr.Insert(rstar.Rect{MaxX: 1, MaxY: 1}, n)
	}
	if !errors.Is(err, rstar.ErrSlabFull) {
		t.Fatal(err)
	}
	h, _ := copiesOf(t, tr)
	s := &Tree{Bytes: uint64(len(tr.Memory())), NodeBytes: 704, BootID: h.BootID, Cache: NewCache(cacheBytes, 704)}
	var w searchWalk
	w.q = rstar.Rect{MinX: 0.5, MinY: 0.5, MaxX: 0.5, MaxY: 0.5}
	walkAll(t, &w, s, tr.Memory(), nil)
	if want := tr.Count(w.q); w.found != want {
		t.Fatalf("%d objects, want %d", w.found, want)
	}
}
