package api

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/rstar"
)

// TestSearchMany compares the answers with those of single searches on a real
// tree.
func TestSearchMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	oracle := scanned(randomItems(rng, 3000))
	tree := newTree(t, rstar.Options{})
	if err := tree.Load(slices.Clone(oracle)); err != nil {
		t.Fatal(err)
	}
	for name, start := range transports {
		t.Run(name, func(t *testing.T) {
			c := start(t, trees{"default": tree}.alone())
			for _, n := range []int{0, 1, 2, 300, MaxQueries} {
				req := &catfishv1.SearchManyRequest{}
				var want [][]rstar.Item
				for i := range n {
					q := randomItems(rng, 1)[0].Rect
					switch i {
					case 1:
						q = world
					case 2:
						q = rstar.Rect{MinX: 99, MinY: 99, MaxX: 99, MaxY: 99}
					}
					req.Queries = append(req.Queries, pbRect(q))
					items := oracle.search(q)
					sortByID(items)
					want = append(want, items)
				}
				got, err := c.searchMany(testContext(t), req)
				if err != nil || !slices.EqualFunc(got, want, slices.Equal[[]rstar.Item]) {
					t.Fatalf("%d queries: the answers differ from those of single searches, %v", n, err)
				}
			}
		})
	}
}

// TestSearchManyTooLarge: the result limit applies to all queries together.
func TestSearchManyTooLarge(t *testing.T) {
	items := randomItems(rand.New(rand.NewPCG(1, 1)), 100)
	c := startBufconn(t, trees{"default": treeOf(t, items...)}.alone(), WithMaxResults(299))
	q := pbRect(world)
	if got, err := c.searchMany(testContext(t), &catfishv1.SearchManyRequest{
		Queries: []*catfishv1.Rect{q, q},
	}); err != nil || len(got[1]) != 100 {
		t.Errorf("200 objects: %v", err)
	}
	_, err := c.searchMany(testContext(t), &catfishv1.SearchManyRequest{
		Queries: []*catfishv1.Rect{q, q, q},
	})
	if d := detailsOf(err); d.code != codes.ResourceExhausted ||
		d.reason != ReasonResultTooLarge || d.meta[MetadataLimit] != "299" {
		t.Errorf("300 objects: %v: %+v", err, d)
	}
}

// TestLargeRequest: a request larger than any call needs is refused before it
// is decoded. One with a few queries too many gets an error that says so.
func TestLargeRequest(t *testing.T) {
	c := startBufconn(t, trees{"default": treeOf(t)}.alone())
	empty := &catfishv1.Rect{}
	_, err := c.searchMany(testContext(t), &catfishv1.SearchManyRequest{
		Queries: slices.Repeat([]*catfishv1.Rect{empty}, maxRequestBytes/2),
	})
	if err == nil || !strings.Contains(err.Error(), "want at most 1024") {
		t.Errorf("at the limit: %v", err)
	}
	_, err = c.searchMany(testContext(t), &catfishv1.SearchManyRequest{
		Queries: slices.Repeat([]*catfishv1.Rect{empty}, maxRequestBytes/2+1),
	})
	if d := detailsOf(err); d.reason != ReasonMessageTooLarge || !strings.Contains(err.Error(), "message of 262146 bytes, at most 262144") {
		t.Errorf("beyond the limit: %v", err)
	}
}
