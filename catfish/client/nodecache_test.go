package client

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/rstar/remote"
	"github.com/catfish-index/catfish/rstar"
)

// threeLevels is enough objects for three levels of the smallest nodes.
const threeLevels = 3000

func scattered(seed uint64, n int) []rstar.Item {
	r := rand.New(rand.NewPCG(seed, 9))
	items := make([]rstar.Item, n)
	for i := range items {
		x, y := r.Float64(), r.Float64()
		items[i] = rstar.Item{Rect: rstar.Rect{MinX: x, MinY: y, MaxX: x + 1e-3, MaxY: y + 1e-3}, ID: uint64(i)}
	}
	return items
}

// cachedServer has a tree of three levels or more, built by insertions.
func cachedServer(t testing.TB) (*server.Server, *rstar.Tree) {
	s := startServer(t, server.Options{NodeBytes: 704, Workers: 1})
	tr := tree(t, s)
	for _, it := range scattered(1, threeLevels) {
		if err := tr.Insert(it.Rect, it.ID); err != nil {
			t.Fatal(err)
		}
	}
	if h := tr.Stats().Height; h < 3 {
		t.Fatalf("%d levels, want three", h)
	}
	return s, tr
}

func mustFind(t testing.TB, c *Client, tr *rstar.Tree, q rstar.Rect) {
	t.Helper()
	got, err := c.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	want := localSearch(tr, q)
	if !slices.Equal(sorted(got), sorted(want)) {
		t.Fatalf("%v: found %d objects, want %d", q, len(got), len(want))
	}
}

func someQuery(r *rand.Rand) rstar.Rect {
	x, y, e := r.Float64(), r.Float64(), 0.1*r.Float64()
	return rstar.Rect{MinX: x, MinY: y, MaxX: x + e*e, MaxY: y + e*e}
}

// warm lets c see all internal nodes.
func warm(t testing.TB, c *Client, tr *rstar.Tree) {
	t.Helper()
	mustFind(t, c, tr, rstar.Rect{MaxX: 2, MaxY: 2})
}

// TestCachedOneRoundTrip: once the internal nodes are cached, a search takes one
// round trip, for its leaves, a line for each copy that it used, and the
// header now and then; without a cache it takes one for each level.
func TestCachedOneRoundTrip(t *testing.T) {
	s, tr := cachedServer(t)
	cached := dial(t, s, Options{Transport: model.TransportSHM, Policy: "offload-cached"})
	plain := dial(t, s, Options{Transport: model.TransportSHM, Policy: "offload"})
	warm(t, cached, tr)
	warm(t, plain, tr)
	const n = 20 * remote.HeaderEvery
	a, b := cached.Counters(), plain.Counters()
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		q := wholeLeaves(t, cached, r)
		mustFind(t, cached, tr, q)
		mustFind(t, plain, tr, q)
	}
	c, p := cached.Counters(), plain.Counters()
	if trips := c.RoundTrips - a.RoundTrips; trips != n {
		t.Errorf("%d round trips for %d searches", trips, n)
	}
	height := uint64(tr.Stats().Height)
	if trips := p.RoundTrips - b.RoundTrips; trips <= n*2 || trips > n*height {
		t.Errorf("without a cache %d round trips for %d searches of %d levels", trips, n, height)
	}
	// Without a cache each search also reads the header; with one, the search
	// reads the line of each node that it does not read.
	want := p.Reads - b.Reads - n + n/remote.HeaderEvery
	if reads := c.Reads - a.Reads; reads != want {
		t.Errorf("%d reads for %d searches, want %d", reads, n, want)
	}
	used := c.CachedNodes - a.CachedNodes
	bytes := p.BytesRead - b.BytesRead - used*(704-rstar.LineBytes) - (n-n/remote.HeaderEvery)*rstar.HeaderBytes
	if got := c.BytesRead - a.BytesRead; got != bytes {
		t.Errorf("%d bytes for %d searches, want %d", got, n, bytes)
	}
	if c.Repairs != 0 || c.Restarts != 0 {
		t.Errorf("%d repairs and %d restarts of a tree that nobody changes", c.Repairs, c.Restarts)
	}
}

// TestCachedHeads: of leaves that have hardly any object in a rectangle, a search
// reads the first lines; a few of these searches need a second round trip.
func TestCachedHeads(t *testing.T) {
	s, tr := cachedServer(t)
	c := dial(t, s, Options{Transport: model.TransportSHM, Policy: "offload-cached"})
	warm(t, c, tr)
	const n = 1000
	r := rand.New(rand.NewPCG(1, 2))
	a, sum, small := c.Counters(), 0, 0
	for range n {
		q := someQuery(r)
		q.MaxX, q.MaxY = q.MinX+1e-3, q.MinY+1e-3
		e := estimateOf(t, c, q)
		sum += e.Bytes
		small += e.Heads
		mustFind(t, c, tr, q)
	}
	b := c.Counters()
	if small < n/2 {
		t.Errorf("%d of the leaves of %d small searches were to be read by their heads", small, n)
	}
	if trips := b.RoundTrips - a.RoundTrips; trips <= n || trips > n*11/10 {
		t.Errorf("%d round trips for %d searches", trips, n)
	}
	extra := int(b.BytesRead-a.BytesRead) - sum - n/remote.HeaderEvery*rstar.HeaderBytes
	if extra <= 0 || extra > n/10*704*2 || extra%704 != 0 {
		t.Errorf("%d bytes more than estimated, want a leaf of 704 for a tenth at most", extra)
	}
}

// insertLarge adds an object so large that boxes grow for it, and reports
// whether anything moved.
func insertLarge(t *testing.T, tr *rstar.Tree, r *rand.Rand, id uint64) (at rstar.Rect, moved bool) {
	t.Helper()
	at = someQuery(r)
	at.MaxX, at.MaxY = at.MinX+0.03, at.MinY+0.03
	before := tr.Stats().Moves
	if err := tr.Insert(at, id); err != nil {
		t.Fatal(err)
	}
	return at, tr.Stats().Moves != before
}

// TestCachedRepair: after an insertion that only enlarges boxes the nodes
// concerned are read again, once for all clients of the process.
func TestCachedRepair(t *testing.T) {
	s, tr := cachedServer(t)
	c := dial(t, s, Options{Transport: model.TransportSHM, Policy: "offload-cached"})
	other := dial(t, s, Options{Transport: model.TransportSHM, Policy: "offload-cached"})
	warm(t, c, tr)
	r := rand.New(rand.NewPCG(3, 2))
	for i := 0; c.Counters().Repairs < 10; i++ {
		if i == 2000 {
			t.Fatalf("after %d insertions %+v", i, c.Counters())
		}
		at, moved := insertLarge(t, tr, r, uint64(threeLevels+i))
		restarts, mended := c.Counters().Restarts, other.Counters()
		mustFind(t, c, tr, at)
		if !moved && c.Counters().Restarts != restarts {
			t.Fatalf("insertion %d moved nothing, and the search began again", i)
		}
		mustFind(t, other, tr, at)
		if o := other.Counters(); !moved && (o.Repairs != mended.Repairs || o.Restarts != mended.Restarts) {
			t.Fatalf("insertion %d: %d repairs of what another client has repaired", i, o.Repairs-mended.Repairs)
		}
	}
}

// TestCachedRepairNearest is TestCachedRepair for the nearest objects.
func TestCachedRepairNearest(t *testing.T) {
	s, tr := cachedServer(t)
	c := dial(t, s, Options{Transport: model.TransportSHM, Policy: "offload-cached"})
	warm(t, c, tr)
	all := scattered(1, threeLevels)
	r := rand.New(rand.NewPCG(13, 2))
	for i := 0; c.Counters().Repairs < 20; i++ {
		if i == 2000 {
			t.Fatalf("after %d insertions %+v", i, c.Counters())
		}
		at, moved := insertLarge(t, tr, r, uint64(threeLevels+i))
		all = append(all, rstar.Item{Rect: at, ID: uint64(threeLevels + i)})
		x, y := at.MaxX+0.01, at.MaxY+0.01 // the enlarged box is nearest
		restarts := c.Counters().Restarts
		n, err := c.Nearest(t.Context(), x, y, 5)
		if err != nil {
			t.Fatal(err)
		}
		if !moved && c.Counters().Restarts != restarts {
			t.Fatalf("insertion %d moved nothing, and the search began again", i)
		}
		want := nearestOf(all, x, y, 5)
		for j := range n {
			if n[j].Dist != want[j] {
				t.Fatalf("insertion %d: the %d-th nearest is at %v, want %v", i, j, n[j].Dist, want[j])
			}
		}
	}
}

// TestCachedAfterMoves: answers are right whatever state the copies are of.
// Between searches the tree is more or less rebuilt, so that children which
// copies name are freed, or reused elsewhere.
func TestCachedAfterMoves(t *testing.T) {
	s, tr := cachedServer(t)
	r := rand.New(rand.NewPCG(4, 2))
	all := scattered(1, threeLevels)
	old := dial(t, s, Options{Transport: model.TransportSHM, Policy: "offload-cached"})
	var restarts uint64
	for round := range 40 {
		warm(t, old, tr)
		for range 1 + r.IntN(threeLevels/4) {
			i := r.IntN(len(all))
			to := someQuery(r)
			if ok, err := tr.Update(all[i].Rect, to, all[i].ID); !ok || err != nil {
				t.Fatal(ok, err)
			}
			all[i].Rect = to
		}
		// A client that has just connected has the present M, and all old copies.
		c := dial(t, s, Options{Transport: model.TransportSHM, Policy: "offload-cached"})
		for range 20 {
			q := someQuery(r)
			mustFind(t, c, tr, q)
			mustFind(t, old, tr, q)
			n, err := c.Nearest(t.Context(), q.MinX, q.MinY, 3)
			if err != nil {
				t.Fatal(err)
			}
			want := nearestOf(all, q.MinX, q.MinY, 3)
			for i := range n {
				if n[i].Dist != want[i] {
					t.Fatalf("round %d: the %d-th nearest is at %v, want %v", round, i, n[i].Dist, want[i])
				}
			}
		}
		n := c.Counters()
		if n.FellBack > 0 {
			t.Fatalf("round %d: %d searches fell back; nobody writes", round, n.FellBack)
		}
		restarts += n.Restarts
		c.Close()
	}
	if restarts == 0 {
		t.Error("no search began again: the test shows little")
	}
}

func nearestOf(items []rstar.Item, x, y float64, k int) []float64 {
	d := make([]float64, len(items))
	for i, it := range items {
		d[i] = it.Rect.Distance(x, y)
	}
	slices.Sort(d)
	return d[:k]
}

// TestCachedSmall: a cache that is far too small costs reads, and nothing else.
func TestCachedSmall(t *testing.T) {
	s, tr := cachedServer(t)
	for _, it := range scattered(2, 30_000) {
		if err := tr.Insert(it.Rect, it.ID); err != nil {
			t.Fatal(err)
		}
	}
	c := dial(t, s, Options{Transport: model.TransportSHM, Policy: "offload", CacheBytes: minCacheBytes})
	r := rand.New(rand.NewPCG(5, 2))
	for range 300 {
		mustFind(t, c, tr, someQuery(r))
	}
	n := c.Counters()
	if n.CachedNodes == 0 || n.RoundTrips <= 300 {
		t.Errorf("%d cached nodes were used, %d round trips: the cache is not small", n.CachedNodes, n.RoundTrips)
	}
}

// TestTrustedCache: copies are trusted until they are an interval old;
// meanwhile a new object may be missed, and nothing else.
func TestTrustedCache(t *testing.T) {
	s, tr := cachedServer(t)
	c := dial(t, s, Options{Transport: model.TransportSHM, Policy: "offload-cached",
		TrustCache: true, HeartbeatInterval: 10 * time.Second})
	warm(t, c, tr) // reads
	warm(t, c, tr) // reads the lines
	before := c.Counters()
	const n = 10 * remote.HeaderEvery
	r := rand.New(rand.NewPCG(6, 2))
	leaves := uint64(0)
	for range n {
		q := wholeLeaves(t, c, r)
		mustFind(t, c, tr, q)
		leaves += uint64(estimateOf(t, c, q).Leaves)
	}
	if got, want := c.Counters().Reads-before.Reads, leaves+n/remote.HeaderEvery; got != want {
		t.Errorf("%d reads for %d searches of %d leaves, want %d", got, n, leaves, want)
	}

	// Far from all others: a box must grow for this object.
	far := rstar.Rect{MinX: 5, MinY: 5, MaxX: 5, MaxY: 5}
	if err := tr.Insert(far, 1<<40); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Count(t.Context(), far); n != 0 || err != nil {
		t.Errorf("a trusted copy shows what came after it: %d, %v", n, err)
	}
	o := c.conn.sessions.latest().slabs[model.DefaultCollection]
	o.Trust = 1 // ns: no copy is that young
	mustFind(t, c, tr, far)
}

// estimateOf asks a client that has cached all internal nodes for its estimate.
func estimateOf(t *testing.T, c *Client, r rstar.Rect) Estimate {
	t.Helper()
	q, e := boxQuery{rect: r, read: read{open: c.conn.sessions.latest().slabs[model.DefaultCollection]}}, Estimate{}
	q.Estimate(&e)
	if e.Missing != 0 || e.Bytes != e.Leaves*704-e.Heads*(704-rstar.HeadBytes(704))+e.Cached*rstar.LineBytes {
		t.Fatalf("estimate is %+v", e)
	}
	return e
}

// wholeLeaves draws a query for which all leaves are read whole, not by first lines.
func wholeLeaves(t *testing.T, c *Client, r *rand.Rand) rstar.Rect {
	t.Helper()
	for {
		q := someQuery(r)
		q.MaxX, q.MaxY = q.MinX+0.05, q.MinY+0.05
		if e := estimateOf(t, c, q); e.Heads == 0 && e.Leaves > 0 {
			return q
		}
	}
}

// TestTrustedCacheFindsUnmovedObjects: while a writer moves all other objects, a client
// that trusts its copies finds the objects that stay, each once.
func TestTrustedCacheFindsUnmovedObjects(t *testing.T) {
	s, tr := cachedServer(t)
	stay := scattered(1, threeLevels)
	c := dial(t, s, Options{Transport: model.TransportSHM, Policy: "offload-cached",
		TrustCache: true, HeartbeatInterval: 10 * time.Second})
	var done atomic.Bool
	wrote := make(chan error, 1)
	go func() {
		defer done.Store(true)
		r := rand.New(rand.NewPCG(7, 2))
		come := scattered(8, 4000)
		for i := range come {
			come[i].ID += 1 << 30
			if err := tr.Insert(come[i].Rect, come[i].ID); err != nil {
				wrote <- err
				return
			}
			if j := r.IntN(i + 1); come[j].ID != 0 && i%2 == 0 {
				if ok, err := tr.Delete(come[j].Rect, come[j].ID); !ok || err != nil {
					wrote <- err
					return
				}
				come[j].ID = 0
			}
		}
		wrote <- nil
	}()
	r := rand.New(rand.NewPCG(9, 2))
	for !done.Load() {
		q := someQuery(r)
		items, err := c.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[uint64]int{}
		for _, it := range items {
			seen[it.ID]++
		}
		for _, it := range stay {
			if n := seen[it.ID]; it.Rect.Intersects(q) && n != 1 || n > 1 {
				t.Fatalf("object %d, there all the time, was found %d times", it.ID, n)
			}
		}
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
}

func TestCacheIsShared(t *testing.T) {
	s, tr := cachedServer(t)
	a := dial(t, s, Options{Transport: model.TransportSHM, Policy: "offload-cached"})
	warm(t, a, tr)
	b := dial(t, s, Options{Transport: model.TransportSoft, Policy: "offload-cached"})
	r := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		mustFind(t, b, tr, someQuery(r))
	}
	if n := b.Counters(); n.RoundTrips != 11 || n.CachedNodes == 0 {
		t.Errorf("%d round trips for 10 searches, want 11: the first header, and one each", n.RoundTrips)
	}
	k := a.conn.sessions.latest().cacheKey
	k.Tree, k.NodeBytes = 0, 704
	shared := func() *remote.Cache {
		c, release := a.conn.sessions.latest().shared.caches.Share(k)
		release()
		return c
	}
	cache := a.conn.sessions.latest().slabs[model.DefaultCollection].Cache
	if cache == nil || b.conn.sessions.latest().slabs[model.DefaultCollection].Cache != cache || shared() != cache {
		t.Error("two clients of one collection have two caches")
	}
	a.Close()
	if shared() != cache {
		t.Error("the cache is gone, but only one of its two users has left")
	}
	b.Close()
	if shared() == cache {
		t.Error("the cache is still there after all have left")
	}
}
