package client

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	tidwall "github.com/tidwall/rtree"

	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/rstar"
)

// oracle answers by linear scan and by tidwall/rtree, which must agree.
type oracle struct {
	items []rstar.Item
	tree  tidwall.RTreeG[int]
}

func newOracle(items []rstar.Item) *oracle {
	o := &oracle{items: items}
	for i, it := range items {
		o.tree.Insert([2]float64{it.Rect.MinX, it.Rect.MinY}, [2]float64{it.Rect.MaxX, it.Rect.MaxY}, i)
	}
	return o
}

func (o *oracle) search(t *testing.T, q rstar.Rect) []rstar.Item {
	t.Helper()
	var scan, peer []rstar.Item
	for _, it := range o.items {
		if it.Rect.Intersects(q) {
			scan = append(scan, it)
		}
	}
	o.tree.Search([2]float64{q.MinX, q.MinY}, [2]float64{q.MaxX, q.MaxY}, func(_, _ [2]float64, i int) bool {
		peer = append(peer, o.items[i])
		return true
	})
	if !slices.Equal(sorted(scan), sorted(peer)) {
		t.Fatalf("the oracles disagree on %v: scan %d, tidwall %d", q, len(scan), len(peer))
	}
	return scan
}

// nearest returns the k least distances, in order.
func (o *oracle) nearest(x, y float64, k int) []float64 {
	least := make([]float64, 0, k+1)
	for _, it := range o.items {
		d := it.Rect.Distance(x, y)
		if len(least) == k && d >= least[k-1] {
			continue
		}
		i, _ := slices.BinarySearch(least, d)
		least = slices.Insert(least, i, d)
		least = least[:min(k, len(least))]
	}
	return least
}

func sorted(items []rstar.Item) []rstar.Item {
	slices.SortFunc(items, func(a, b rstar.Item) int {
		if a.ID != b.ID { // cmp.Or would compare the rectangles all the same
			return cmp.Compare(a.ID, b.ID)
		}
		return cmp.Or(cmp.Compare(a.Rect.MinX, b.Rect.MinX), cmp.Compare(a.Rect.MinY, b.Rect.MinY))
	})
	return items
}

// queriesAround draws rectangles and points near objects: small, wide,
// empty, and one that covers everything.
func queriesAround(items []rstar.Item, seed uint64, n int) []rstar.Rect {
	r := rand.New(rand.NewPCG(seed, 1))
	world := items[0].Rect
	for _, it := range items {
		world = world.Union(it.Rect)
	}
	qs := []rstar.Rect{{MinX: world.MaxX + 1, MinY: world.MaxY + 1, MaxX: world.MaxX + 2, MaxY: world.MaxY + 2}}
	if seed == 0 && len(items) < 1_000_000/catfishtest.RaceFactor {
		qs = append(qs, world)
	}
	for len(qs) < n {
		c := items[r.IntN(len(items))].Rect
		edge := (world.MaxX - world.MinX) * math.Pow(10, -1-4*r.Float64())
		qs = append(qs, rstar.Rect{MinX: c.MinX - edge*r.Float64(), MinY: c.MinY - edge*r.Float64(),
			MaxX: c.MaxX + edge*r.Float64(), MaxY: c.MaxY + edge*r.Float64()})
	}
	return qs
}

// seeds is more than any seed of TestExact: those of other tests begin here.
const seeds = 10

var exactSeeds = flag.Int("seeds", 1, fmt.Sprintf("how many seeds TestExact has, at most %d", seeds))

// TestExact: for every data set, seed and scheme, search, count, limit
// and nearest answer what a linear scan and tidwall/rtree answer.
func TestExact(t *testing.T) {
	sets := exactSets()
	if testing.Short() {
		sets = sets[:1] // an emulated machine is slow, and small
	}
	for _, d := range sets {
		t.Run(d.name, func(t *testing.T) {
			// To build an oracle takes longer than to ask it.
			oracles := make([]*oracle, len(d.groups))
			for _, polling := range []bool{false, true} {
				testExact(t, d, oracles, polling)
			}
		})
	}
}

func testExact(t *testing.T, d exactSet, oracles []*oracle, polling bool) {
	ps := paths()
	if polling {
		ps = pollingPaths()
	}
	groups := some(d.groups)
	if polling {
		groups = groups[:min(len(groups), 3)] // the same answers, by workers that wait in another way
	}
	for i, group := range groups {
		s := startServer(t, server.Options{Polling: polling, Workers: 1, SlabBytes: 128 << 20})
		if err := tree(t, s).Load(group.items); err != nil {
			t.Fatal(err)
		}
		clients := make([]*Client, len(ps))
		for i, p := range ps {
			clients[i] = dial(t, s, p.options())
		}
		if oracles[i] == nil {
			oracles[i] = newOracle(group.items)
		}
		o := oracles[i]
		for _, seed := range some(group.seeds) {
			qs := queriesAround(group.items, seed, d.queries)
			want, dist := make([][]rstar.Item, len(qs)), make([][]float64, len(qs))
			for i, q := range qs {
				want[i], dist[i] = o.search(t, q), o.nearest(q.MinX, q.MaxY, 7)
			}
			// Alone, a client would wait for wake-ups most of the time.
			var asking sync.WaitGroup
			for i, c := range clients {
				asking.Go(func() {
					for j, q := range qs {
						if err := sameAnswers(t, c, q, want[j], q.MinX, q.MaxY, dist[j]); err != nil {
							t.Errorf("%s, seed %d: %v", ps[i].name, seed, err)
							return
						}
					}
				})
			}
			if asking.Wait(); t.Failed() {
				return
			}
		}
		for i, c := range clients {
			checkWays(t, ps[i], c)
		}
		if polling {
			s.Close() // a polling server holds a core
		}
	}
}

// some leaves out cases that would take too long under the race detector, or on an
// emulated machine.
func some[T any](all []T) []T {
	n := catfishtest.RaceFactor
	if testing.Short() {
		n *= 2
	}
	return all[:(len(all)-1)/n+1]
}

func sameAnswers(t *testing.T, c *Client, q rstar.Rect, want []rstar.Item, x, y float64, dist []float64) error {
	got, err := c.Search(t.Context(), q)
	if err != nil {
		return err
	}
	if !slices.Equal(sorted(got), want) {
		return fmt.Errorf("search %v: %d results, want %d", q, len(got), len(want))
	}
	if n, err := c.Count(t.Context(), q); err != nil || n != len(want) {
		return fmt.Errorf("count %v = %d, %v, want %d", q, n, err, len(want))
	}
	const limit = 3
	few, err := c.SearchAppend(t.Context(), nil, q, limit)
	if err != nil || len(few) != min(limit, len(want)) {
		return fmt.Errorf("search %v, limit %d: %d results, %v, want %d", q, limit, len(few), err, min(limit, len(want)))
	}
	for _, it := range few {
		if _, ok := slices.BinarySearchFunc(want, it.ID, func(a rstar.Item, id uint64) int { return cmp.Compare(a.ID, id) }); !ok {
			return fmt.Errorf("search %v, limit %d: returned %v, which does not belong", q, limit, it)
		}
	}
	near, err := c.Nearest(t.Context(), x, y, len(dist))
	if err != nil || len(near) != len(dist) {
		return fmt.Errorf("nearest (%v, %v): %d results, %v, want %d", x, y, len(near), err, len(dist))
	}
	for i, n := range near {
		if n.Dist != dist[i] || n.Dist != n.Rect.Distance(x, y) {
			return fmt.Errorf("nearest (%v, %v): number %d at %v, want %v", x, y, i, n.Dist, dist[i])
		}
	}
	return nil
}

// readCopies is how many Reads a client posts for each that its walks ask for.
func readCopies(c *Client) uint64 {
	if c.conn.sessions.latest().dev.Info().TornLines {
		return 2
	}
	return 1
}

// checkWays checks that each path took the way that its name says.
func checkWays(t *testing.T, p path, c *Client) {
	t.Helper()
	n := c.Counters()
	if got := c.Info().Transport; got != p.transport {
		t.Errorf("%s: transport %s", p.name, got)
	}
	switch p.policy {
	case "tcp", "fast", "fast-polling", "farm", "fast-polling-cq":
		if n.FastSearches == 0 || n.OffloadedSearches != 0 || n.Reads != 0 {
			t.Errorf("%s: %+v", p.name, n)
		}
	case "fetch":
		if n.FastSearches == 0 || n.OffloadedSearches != 0 || n.Reads != 0 || n.AnswerReads <= n.AnswersMissed {
			t.Errorf("%s: %+v", p.name, n)
		}
	case "offload", "offload-single":
		if n.OffloadedSearches == 0 || n.FastSearches != 0 || n.Reads == 0 {
			t.Errorf("%s: %+v", p.name, n)
		}
		copies := readCopies(c)
		if p.policy == "offload-single" && n.RoundTrips != n.Reads/copies {
			t.Errorf("single-issue: %d round trips, %d reads of %d searches", n.RoundTrips, n.Reads/copies, n.OffloadedSearches)
		}
		if p.policy == "offload" && n.RoundTrips >= n.Reads {
			t.Errorf("multi-issue: %d round trips, %d reads", n.RoundTrips, n.Reads)
		}
	}
}
