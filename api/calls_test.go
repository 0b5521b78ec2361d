package api

import (
	"math/rand/v2"
	"slices"
	"testing"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/rstar"
)

// transports are the connections over which every call is tested.
var transports = map[string]func(testing.TB, Backend, ...Option) client{
	"bufconn": startBufconn, "loopback": startLoopback,
}

// TestCallsAgainstScan sends every call and compares the answers with those of
// a slice that is changed and scanned here.
func TestCallsAgainstScan(t *testing.T) {
	for name, start := range transports {
		t.Run(name, func(t *testing.T) {
			testCalls(t, start(t, trees{
				"default": treeOf(t), "roads": treeOf(t),
			}.alone()))
		})
	}
}

func testCalls(t *testing.T, c client) {
	ctx := testContext(t)
	rng := rand.New(rand.NewPCG(1, 2))
	oracle := scanned(randomItems(rng, 1000))

	// Bulk load, then insert one by one into a collection that is not empty.
	half := len(oracle) / 2
	for i, part := range [][]rstar.Item{oracle[:half], oracle[half:]} {
		res, err := c.load(ctx, "roads", part, 77)
		if err != nil {
			t.Fatal(err)
		}
		if res.GetReceived() != uint64(half) || res.GetLoaded() != uint64(half) ||
			res.GetBulk() != (i == 0) {
			t.Fatalf("load %d: %v", i, res)
		}
	}

	extra := rstar.Item{ID: 5000, Rect: rstar.Rect{MaxX: 0.5, MaxY: 0.5}}
	moved := rstar.Rect{MinX: 0.5, MinY: 0.5, MaxX: 0.5, MaxY: 0.5}
	_, err := c.Insert(ctx, &catfishv1.InsertRequest{
		Collection: "roads", Item: pbItem(extra),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range []bool{true, false} { // The second update finds nothing.
		up, err := c.Update(ctx, &catfishv1.UpdateRequest{
			Collection: "roads", Id: extra.ID,
			OldRect: pbRect(extra.Rect), NewRect: pbRect(moved),
		})
		if err != nil || up.GetFound() != found {
			t.Fatalf("update: %v, %v, want %v", up, err, found)
		}
		del, err := c.Delete(ctx, &catfishv1.DeleteRequest{
			Collection: "roads", Item: pbItem(oracle[3]),
		})
		if err != nil || del.GetFound() != found {
			t.Fatalf("delete: %v, %v, want %v", del, err, found)
		}
	}
	oracle = slices.Delete(oracle, 3, 4)
	oracle = append(oracle, rstar.Item{Rect: moved, ID: extra.ID})

	for range 50 {
		compareReads(t, c, oracle, randomItems(rng, 1)[0].Rect, rng.IntN(20))
	}
	compareReads(t, c, oracle, world, 700)

	st, err := c.Stats(ctx, &catfishv1.StatsRequest{Collection: "roads"})
	if err != nil || st.GetObjects() != 1000 || st.GetCollection() != "roads" ||
		!slices.Equal(st.GetCollections(), []string{"default", "roads"}) {
		t.Fatalf("stats: %v, %v", st, err)
	}
	// None of this may have changed the default collection.
	st, err = c.Stats(ctx, &catfishv1.StatsRequest{})
	if err != nil || st.GetObjects() != 0 || st.GetCollection() != "default" {
		t.Fatalf("stats of the empty name: %v, %v", st, err)
	}
}

// compareReads compares Search, Count and Nearest with the oracle.
func compareReads(t *testing.T, c client, oracle scanned, q rstar.Rect, n int) {
	t.Helper()
	ctx := testContext(t)
	want := oracle.search(q)
	sortByID(want)
	got, err := c.search(ctx, &catfishv1.SearchRequest{
		Collection: "roads", Query: pbRect(q),
	})
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("search %v: %d objects, %v, want %d", q, len(got), err, len(want))
	}
	cnt, err := c.Count(ctx, &catfishv1.CountRequest{
		Collection: "roads", Query: pbRect(q),
	})
	if err != nil || cnt.GetCount() != uint64(len(want)) {
		t.Fatalf("count %v: %v, %v, want %d", q, cnt, err, len(want))
	}
	if n == 0 {
		return
	}

	got, err = c.search(ctx, &catfishv1.SearchRequest{
		Collection: "roads", Query: pbRect(q), Limit: uint32(n),
	})
	if err != nil || len(got) != min(n, len(want)) {
		t.Fatalf("search %v limit %d: %d objects, %v", q, n, len(got), err)
	}
	for _, it := range got {
		if !slices.Contains(want, it) {
			t.Fatalf("search %v limit %d returned %v", q, n, it)
		}
	}

	dists := oracle.distances(q.MinX, q.MinY)
	compareNearest(t, c, &catfishv1.NearestRequest{
		Collection: "roads", X: q.MinX, Y: q.MinY, K: uint32(n),
	}, dists[:n])
	radius := dists[n] // Inclusive.
	within := len(dists)
	for within > 0 && dists[within-1] > radius {
		within--
	}
	compareNearest(t, c, &catfishv1.NearestRequest{
		Collection: "roads", X: q.MinX, Y: q.MinY, MaxDistance: &radius,
	}, dists[:within])
	compareNearest(t, c, &catfishv1.NearestRequest{
		Collection: "roads", X: q.MinX, Y: q.MinY, MaxDistance: &radius, K: 1,
	}, dists[:1])
}

func compareNearest(t *testing.T, c client, req *catfishv1.NearestRequest,
	want []float64,
) {
	t.Helper()
	near, err := c.nearest(testContext(t), req)
	if err != nil || len(near) != len(want) {
		t.Fatalf("%v: %d objects, %v, want %d", req, len(near), err, len(want))
	}
	for i, n := range near {
		d := n.Rect.Distance(req.GetX(), req.GetY())
		if n.Dist != want[i] || n.Dist != d {
			t.Fatalf("%v: object %d is at %v and says %v, want %v",
				req, i, d, n.Dist, want[i])
		}
	}
}
