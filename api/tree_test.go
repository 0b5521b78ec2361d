package api

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/rstar"
)

// The service is made for trees.
var _ Collection = (*rstar.Tree)(nil)

func newTree(t testing.TB, o rstar.Options) *rstar.Tree {
	t.Helper()
	tree, err := rstar.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
	return tree
}

// TestCallsOnTree is TestCallsAgainstScan on real trees.
func TestCallsOnTree(t *testing.T) {
	tree := newTree(t, rstar.Options{})
	testCalls(t, startLoopback(t, trees{
		"default": newTree(t, rstar.Options{}), "roads": tree,
	}.alone()))
	if err := tree.Check(); err != nil {
		t.Fatal(err)
	}
}

// TestTreeStats compares the result of Stats with the expected one for a tree
// that was just loaded and searched once.
func TestTreeStats(t *testing.T) {
	tree := newTree(t, rstar.Options{})
	c := startBufconn(t, trees{"default": tree}.alone())
	ctx := testContext(t)
	items := randomItems(rand.New(rand.NewPCG(19, 20)), 5000)
	if _, err := c.load(ctx, "", items, 1000); err != nil {
		t.Fatal(err)
	}
	if _, err := c.search(ctx, &catfishv1.SearchRequest{
		Query: pbRect(world),
	}); err != nil {
		t.Fatal(err)
	}
	s, err := c.Stats(ctx, &catfishv1.StatsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	nodes, entries := uint64(0), s.GetObjects()
	for i, l := range s.GetLevels() {
		fanout := s.GetFanout()
		if i > 0 {
			fanout = s.GetInnerFanout()
		}
		used := l.GetFill() * float64(l.GetNodes()) * float64(fanout)
		if d := used - float64(entries); d < -1e-6 || d > 1e-6 {
			t.Errorf("level %d has %v entries, want %d", i, used, entries)
		}
		nodes, entries = nodes+l.GetNodes(), l.GetNodes()
	}
	if s.GetObjects() != 5000 || entries != 1 || s.GetSearches() != 1 ||
		s.GetNodeReads() != nodes || s.GetMoves() == 0 ||
		s.GetUsedBytes() != (nodes+1)*s.GetNodeBytes() ||
		s.GetUsedBytes() > s.GetSlabBytes() {
		t.Errorf("%v", s)
	}
}

// TestTreeSlabFull fills a small slab by a bulk load that is too large, then
// object by object, then loads once more: the errors report it, and the tree
// holds what was acknowledged.
func TestTreeSlabFull(t *testing.T) {
	tree := newTree(t, rstar.Options{SlabBytes: 1 << 20})
	c := startBufconn(t, trees{"default": tree}.alone())
	ctx := testContext(t)
	rng := rand.New(rand.NewPCG(21, 22))
	items := randomItems(rng, 60_000)
	isFull := func(err error) details {
		t.Helper()
		d := detailsOf(err)
		if d.code != codes.ResourceExhausted || d.reason != ReasonSlabFull ||
			!strings.Contains(err.Error(), "slab full") {
			t.Fatalf("%v: %+v", err, d)
		}
		return d
	}
	_, err := c.load(ctx, "", items, 10_000)
	if d := isFull(err); d.load.GetLoaded() != 0 || tree.Len() != 0 {
		t.Fatalf("says %v; the tree has %d", d.load, tree.Len())
	}
	if _, err := c.load(ctx, "", items[:5000], 1000); err != nil {
		t.Fatal(err)
	}
	_, err = c.load(ctx, "", items[5000:], 10_000)
	d := isFull(err)
	if n := int(d.load.GetLoaded()); n == 0 || tree.Len() != 5000+n {
		t.Fatalf("says %v; the tree has %d", d.load, tree.Len())
	}
	if err := tree.Check(); err != nil {
		t.Fatal(err)
	}
}

// TestTreeClosed gets UNAVAILABLE and a time to retry from a tree that is
// closed under the server.
func TestTreeClosed(t *testing.T) {
	tree := newTree(t, rstar.Options{})
	c := startBufconn(t, trees{"default": tree}.alone())
	if err := tree.Close(); err != nil {
		t.Fatal(err)
	}
	errs := everyCall(testContext(t), c, "")
	for _, call := range []string{"Insert", "Update", "Delete", "Load"} {
		d := detailsOf(errs[call])
		if d.code != codes.Unavailable || d.reason != ReasonClosed || !d.retry {
			t.Errorf("%s: %v: %+v", call, errs[call], d)
		}
	}
}

// TestConcurrentCalls searches while others write: objects that stay are in
// every answer exactly once.
func TestConcurrentCalls(t *testing.T) {
	c := startLoopback(t, trees{"default": newTree(t, rstar.Options{})}.alone())
	ctx := testContext(t)
	stay := randomItems(rand.New(rand.NewPCG(23, 24)), 2000)
	if _, err := c.load(ctx, "", stay, 500); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range uint64(2) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(25, w))
			for i := range 300 {
				it := randomItems(rng, 1)[0]
				it.ID = 1<<32 + w<<16 + uint64(i)
				_, err := c.Insert(ctx, &catfishv1.InsertRequest{
					Item: pbItem(it),
				})
				if err != nil {
					t.Error(err)
					return
				}
				d, err := c.Delete(ctx, &catfishv1.DeleteRequest{
					Item: pbItem(it),
				})
				if err != nil || !d.GetFound() {
					t.Error(d, err)
					return
				}
			}
		})
	}
	for range 40 {
		got, err := c.search(ctx, &catfishv1.SearchRequest{
			Query: pbRect(world),
		})
		if err != nil {
			t.Fatal(err)
		}
		// Sorted by id, so those that come and go are the last.
		if len(got) < len(stay) || !slices.Equal(got[:len(stay)], stay) {
			t.Fatalf("%d objects, not the %d that stay and others",
				len(got), len(stay))
		}
		for i := len(stay); i < len(got); i++ {
			if got[i].ID == got[i-1].ID {
				t.Fatalf("object %d twice", got[i].ID)
			}
		}
	}
	wg.Wait()
}
