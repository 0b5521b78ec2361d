package api

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/rstar"
)

// longItems take more than two steps: their tree has some 1,100 leaves.
func longItems() []rstar.Item {
	return randomItems(rand.New(rand.NewPCG(31, 32)), 45_000)
}

func longTree(t *testing.T, items []rstar.Item) *rstar.Tree {
	t.Helper()
	tree := newTree(t, rstar.Options{})
	if err := tree.Load(items); err != nil {
		t.Fatal(err)
	}
	if n := tree.Stats().Nodes[0]; n < 2*stepNodes {
		t.Fatalf("the test's tree has only %d leaves", n)
	}
	return tree
}

// TestLongCalls compares the answers of calls that take many steps with those
// of a scan.
func TestLongCalls(t *testing.T) {
	items := longItems()
	oracle := scanned(items)
	c := startBufconn(t, trees{"default": longTree(t, items)}.alone())
	ctx := testContext(t)

	got, err := c.search(ctx, &catfishv1.SearchRequest{Query: pbRect(world)})
	if err != nil || !slices.Equal(got, items) {
		t.Errorf("search: %d objects, %v", len(got), err)
	}
	got, err = c.search(ctx, &catfishv1.SearchRequest{Query: pbRect(world), Limit: 40_000})
	if err != nil || len(got) != 40_000 {
		t.Errorf("search with a limit: %d objects, %v", len(got), err)
	}
	n, err := c.Count(ctx, &catfishv1.CountRequest{Query: pbRect(world)})
	if err != nil || n.GetCount() != uint64(len(items)) {
		t.Errorf("count: %v, %v", n, err)
	}

	req := &catfishv1.SearchManyRequest{}
	var want [][]rstar.Item
	for i := range 100 {
		q := randomItems(rand.New(rand.NewPCG(33, uint64(i))), 1)[0].Rect
		if i == 3 || i == 4 || i == 99 {
			q = world
		}
		req.Queries = append(req.Queries, pbRect(q))
		answer := oracle.search(q)
		sortByID(answer)
		want = append(want, answer)
	}
	many, err := c.searchMany(ctx, req)
	if err != nil || !slices.EqualFunc(many, want, slices.Equal[[]rstar.Item]) {
		t.Errorf("the answers to many queries differ, %v", err)
	}

	dists, radius := oracle.distances(0.5, 0.5), 10.0
	for _, req := range []*catfishv1.NearestRequest{
		{X: 0.5, Y: 0.5, K: 1}, {X: 0.5, Y: 0.5, K: BatchItems},
		{X: 0.5, Y: 0.5, K: 40_000}, {X: 0.5, Y: 0.5, MaxDistance: &radius},
	} {
		k := int(req.GetK())
		if k == 0 {
			k = len(dists)
		}
		compareNearest(t, c, req, dists[:k])
	}
	radius = dists[30_000]
	compareNearest(t, c, &catfishv1.NearestRequest{X: 0.5, Y: 0.5, MaxDistance: &radius}, dists[:30_001])
	if u := c.use(t, ofCalls); u.Refused != 0 || u.Cut != 0 {
		t.Errorf("%+v", u)
	}
}

// expiring is a context that ends after looks calls of Err.
type expiring struct {
	context.Context
	looks int
}

func (c *expiring) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// sink is a stream that takes everything.
type sink struct {
	grpc.ServerStream
	ctx  context.Context
	sent int
}

func (s *sink) Context() context.Context { return s.ctx }
func (s *sink) SendMsg(any) error        { s.sent++; return nil }

// TestLongCallsEndBetweenSteps: a long call whose client has disconnected ends
// within a step, instead of visiting the whole tree.
func TestLongCallsEndBetweenSteps(t *testing.T) {
	items := longItems()
	world := pbRect(world)
	radius := 10.0
	for name, call := range map[string]func(s *service, ss *sink) error{
		"Search": func(s *service, ss *sink) error {
			return s.Search(&catfishv1.SearchRequest{Query: world},
				&grpc.GenericServerStream[catfishv1.SearchRequest, catfishv1.SearchResponse]{ServerStream: ss})
		},
		"SearchMany": func(s *service, ss *sink) error {
			return s.SearchMany(&catfishv1.SearchManyRequest{Queries: []*catfishv1.Rect{world, world}},
				&grpc.GenericServerStream[catfishv1.SearchManyRequest, catfishv1.SearchManyResponse]{ServerStream: ss})
		},
		"Nearest": func(s *service, ss *sink) error {
			return s.Nearest(&catfishv1.NearestRequest{MaxDistance: &radius},
				&grpc.GenericServerStream[catfishv1.NearestRequest, catfishv1.NearestResponse]{ServerStream: ss})
		},
		"Count": func(s *service, ss *sink) error {
			_, err := s.Count(ss.ctx, &catfishv1.CountRequest{Query: world})
			return err
		},
	} {
		tree := longTree(t, items)
		own := limits.NewSlots(1)
		s := &service{backend: trees{"default": tree}.on(limits.Alone{Slots: own}), options: newOptions(nil)}
		const looks = 2 // when the call begins, and before the second step
		ss := &sink{ctx: &expiring{t.Context(), looks}}
		err := call(s, ss)
		if status.Code(err) != codes.Canceled || ss.sent != 0 {
			t.Errorf("%s: %v, %d messages", name, err, ss.sent)
		}
		// A step may visit a few nodes more than its limit.
		if n := tree.Stats().NodeReads; n > looks*(stepNodes+stepNodes/8) {
			t.Errorf("%s: %d nodes were read", name, n)
		}
		if _, now := own.Join("a", nil); !now {
			t.Errorf("%s: a turn was not given back", name)
		}
	}
}

// TestRefusedCallsHoldLittle: 50 calls at once ask for more than one host may
// hold. All are refused with advice, when they have found as much as fits, and
// hold nothing afterwards.
func TestRefusedCallsHoldLittle(t *testing.T) {
	items := longItems()
	tree := longTree(t, items)
	// Room for the calls, and for half of one answer of 1.8 MB.
	const share = 50*callBytes + 900_000
	c := startBufconn(t, trees{"default": tree}.alone(), WithMaxAnswerBytes(2*share))
	ctx := testContext(t)
	radius := 10.0
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			var err error
			switch i % 3 {
			case 0:
				_, err = c.search(ctx, &catfishv1.SearchRequest{Query: pbRect(world)})
			case 1:
				_, err = c.searchMany(ctx, &catfishv1.SearchManyRequest{
					Queries: []*catfishv1.Rect{pbRect(world)},
				})
			case 2:
				_, err = c.nearest(ctx, &catfishv1.NearestRequest{MaxDistance: &radius})
			}
			if d := detailsOf(err); d.code != codes.ResourceExhausted || d.reason != ReasonBusy || !d.retry {
				t.Errorf("%v: %+v", err, d)
			}
		})
	}
	wg.Wait()
	st := tree.Stats()
	if whole := 50 * uint64(st.Nodes[0]); st.NodeReads > whole*2/3 {
		t.Errorf("%d nodes were read, whole answers take %d", st.NodeReads, whole)
	}
	// An answer that fits is served, on the same connection.
	got, err := c.search(ctx, &catfishv1.SearchRequest{Query: pbRect(world), Limit: 15_000})
	if err != nil || len(got) != 15_000 {
		t.Errorf("%d objects, %v", len(got), err)
	}
	if u := c.use(t, ofCalls); u.Refused != 50 || u.Cut != 0 {
		t.Errorf("%+v", u)
	}
}
