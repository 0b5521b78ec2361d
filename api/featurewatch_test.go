package api

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
)

// watch begins a watch of "places", and returns when the server has confirmed it.
func (c featureClient) watch(ctx context.Context, t testing.TB, req *catfishv1.FeatureServiceWatchRequest) (
	stream grpc.ServerStreamingClient[catfishv1.FeatureServiceWatchResponse], first *catfishv1.FeatureServiceWatchResponse,
) {
	t.Helper()
	req.Collection = "places"
	stream, err := c.Watch(ctx, req)
	if err == nil {
		first, err = stream.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(first.GetEvents()) != 0 || first.GetRevision() < req.GetAfterRevision() || first.GetRevision() == 0 || first.GetHistory() == 0 {
		t.Fatalf("begins with %v", first)
	}
	return stream, first
}

func (c featureClient) move(t testing.TB, id string, x, y float64, n int) uint64 {
	t.Helper()
	return c.put(t, pbPoint(id, x, y, fmt.Sprintf(`{"n":%d}`, n)))
}

// Two areas with their events in one stream, what is selected of features, and
// the features before each change.
func TestFeatureWatch(t *testing.T) {
	c := startFeatures(t, store.Options{}, WithWatchProgress(time.Millisecond))
	ctx := testContext(t)
	stream, first := c.watch(ctx, t, &catfishv1.FeatureServiceWatchRequest{
		Areas: []*catfishv1.WatchedArea{
			{Name: "east", Query: &catfishv1.Query{Area: boxArea(0, -10, 10, 10), Filter: "properties.n < 5"}},
			{Name: "west", Query: &catfishv1.Query{Area: boxArea(-10, -10, 0, 10)}},
		},
		Selection: &catfishv1.Selection{NoProperties: true}, Old: true,
	})
	m, err := stream.Recv()
	if err != nil || len(m.GetEvents()) != 0 || m.GetRevision() < first.GetRevision() || m.GetHistory() != first.GetHistory() {
		t.Fatalf("progress: %v, %v", m, err)
	}
	revs := []uint64{
		c.move(t, "a", 1, 1, 1), c.move(t, "a", 2, 2, 1), c.move(t, "a", 2, 2, 2), c.move(t, "a", -2, 2, 2),
		must[*catfishv1.FeatureServiceDeleteResponse](t)(c.FeatureServiceClient.Delete(ctx, &catfishv1.FeatureServiceDeleteRequest{Collection: "places", Id: "a"})).GetRevision(),
		c.move(t, "b", 3, 3, 3), c.move(t, "b", 3, 3, 7),
	}
	type event struct {
		kind             catfishv1.FeatureEventKind
		end              catfishv1.FeatureEnd
		rev              uint64
		area, id, at, of string
	}
	p := pointText
	want := []event{
		{1, 0, revs[0], "east", "a", p(1, 1), ""},
		{3, 0, revs[1], "east", "a", p(2, 2), p(1, 1)},
		{4, 0, revs[2], "east", "a", p(2, 2), p(2, 2)},
		{2, 3, revs[3], "east", "a", p(-2, 2), p(2, 2)},
		{1, 0, revs[3], "west", "a", p(-2, 2), p(2, 2)},
		{2, 1, revs[4], "west", "a", "", p(-2, 2)},
		{1, 0, revs[5], "east", "b", p(3, 3), ""},
		{2, 4, revs[6], "east", "b", p(3, 3), p(3, 3)},
	}
	var got []event
	last := m.GetRevision()
	for len(got) < len(want) {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if m.GetRevision() < last {
			t.Errorf("revision %d after %d", m.GetRevision(), last)
		}
		last = m.GetRevision()
		for _, e := range m.GetEvents() {
			got = append(got, event{e.GetKind(), e.GetEnd(), e.GetRevision(), e.GetArea(), e.GetFeature().GetId(), e.GetFeature().GetGeojson(), e.GetOld().GetGeojson()})
			if e.GetFeature().GetProperties() != "" || e.GetOld().GetProperties() != "" || last < e.GetRevision()-1 {
				t.Errorf("%v up to %d", e, last)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// TestFeatureWatchHistories: watches that are broken off and resumed have
// together the events of an uninterrupted watch, each once, with any writers.
func TestFeatureWatchHistories(t *testing.T) {
	c := startFeatures(t, store.Options{})
	ctx := testContext(t)
	query := &catfishv1.Query{Area: boxArea(-5, -5, 5, 5), Filter: "properties.n != 3"}
	const watchers, movers, moves = 4, 4, 150
	var watching, moving sync.WaitGroup
	events, has := make([][]string, watchers), make([]map[string]uint64, watchers)
	for i := range watchers {
		req := &catfishv1.FeatureServiceWatchRequest{Query: query}
		part, cut := context.WithCancel(ctx)
		stream, first := c.watch(part, t, req)
		req.AfterRevision, req.History = first.GetRevision(), first.GetHistory()
		has[i] = map[string]uint64{}
		watching.Go(func() {
			defer func() { cut() }()
			for n := 0; ; n++ {
				m, err := stream.Recv()
				if err != nil {
					t.Error(err)
					return
				}
				for _, e := range m.GetEvents() {
					events[i] = append(events[i], fmt.Sprint(e.GetRevision(), e.GetKind(), e.GetEnd(), e.GetFeature().GetId()))
					if e.GetKind() == catfishv1.FeatureEventKind_FEATURE_EVENT_KIND_EXIT {
						delete(has[i], e.GetFeature().GetId())
					} else {
						has[i][e.GetFeature().GetId()] = e.GetFeature().GetRevision()
					}
					if e.GetFeature().GetId() == "end" {
						return
					}
				}
				req.AfterRevision = m.GetRevision()
				if i > 0 && n%(5*i) == 4 {
					cut()
					part, cut = context.WithCancel(ctx)
					stream, _ = c.watch(part, t, req)
				}
			}
		})
	}
	for i := range movers {
		moving.Go(func() {
			rng := rand.New(rand.NewPCG(9, uint64(i)))
			for range moves {
				id := fmt.Sprint("mover ", rng.IntN(12))
				if rng.IntN(5) == 0 {
					_, err := c.FeatureServiceClient.Delete(ctx, &catfishv1.FeatureServiceDeleteRequest{Collection: "places", Id: id})
					if code := detailsOf(err).code; code != codes.OK && code != codes.NotFound {
						t.Error(err)
					}
					continue
				}
				c.move(t, id, rng.Float64()*16-8, rng.Float64()*16-8, rng.IntN(5))
			}
		})
	}
	moving.Wait()
	c.move(t, "end", 0, 0, 0)
	watching.Wait()
	found, err := c.find(ctx, &catfishv1.FeatureServiceSearchRequest{Query: query})
	if err != nil {
		t.Fatal(err)
	}
	for i := range watchers {
		if !slices.Equal(events[i], events[0]) || len(events[i]) < moves {
			t.Errorf("watcher %d has %d events, the first %d", i, len(events[i]), len(events[0]))
		}
		if len(has[i]) != len(found.features) {
			t.Errorf("watcher %d has %d features, want %d", i, len(has[i]), len(found.features))
		}
		for _, f := range found.features {
			if has[i][f.GetId()] != f.GetRevision() {
				t.Errorf("watcher %d has %q as of %d, want %v", i, f.GetId(), has[i][f.GetId()], f)
			}
		}
	}
}

// A watch that is broken off at any message continues with what the next one would have.
func TestFeatureWatchLongAnswers(t *testing.T) {
	c := startFeatures(t, store.Options{})
	ctx := testContext(t)
	_, first := c.watch(ctx, t, &catfishv1.FeatureServiceWatchRequest{})
	var revs []uint64
	for i := range 3 * BatchItems {
		revs = append(revs, c.put(t, pbPoint(fmt.Sprint(i), 1, 1, "")))
	}
	messages := 0
	for from := first.GetRevision(); len(revs) > 0; messages++ {
		part, cut := context.WithCancel(ctx)
		stream, _ := c.watch(part, t, &catfishv1.FeatureServiceWatchRequest{AfterRevision: from})
		m, err := stream.Recv()
		cut()
		if err != nil || len(m.GetEvents()) == 0 {
			t.Fatal(m, err)
		}
		for i, e := range m.GetEvents() {
			if e.GetRevision() != revs[i] {
				t.Fatalf("revision %d, want %d", e.GetRevision(), revs[i])
			}
		}
		revs, from = revs[len(m.GetEvents()):], m.GetRevision()
	}
	if messages < 3 {
		t.Errorf("all in %d messages", messages)
	}
}

// A client that does not read blocks no other, and gets an error that says what
// it lost.
func TestFeatureWatchLagged(t *testing.T) {
	c := startFeatures(t, store.Options{Watch: store.WatchLimits{Changes: 16}})
	stream, _ := c.watch(testContext(t), t, &catfishv1.FeatureServiceWatchRequest{})
	text := fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 4<<10))
	revs := []uint64{c.move(t, "first", 1, 1, 1)}
	if m, err := stream.Recv(); err != nil || len(m.GetEvents()) != 1 || m.GetRevision() != revs[0] {
		t.Fatal(m, err)
	}
	for i := range 300 { // 1.2 MB: twenty times what gRPC keeps for a client
		revs = append(revs, c.put(t, pbPoint(fmt.Sprint(i), 1, 1, text)))
	}
	told := 1
	for {
		m, err := stream.Recv()
		if err != nil {
			d := detailsOf(err)
			if d.code != codes.OutOfRange || d.reason != ReasonLagged || d.meta[MetadataRevision] != "" {
				t.Errorf("%v: %v", err, d)
			}
			break
		}
		for _, e := range m.GetEvents() {
			if e.GetRevision() != revs[told] {
				t.Fatalf("event %d is of revision %d, want %d", told, e.GetRevision(), revs[told])
			}
			told++
		}
	}
	if told == len(revs) {
		t.Errorf("%d events of %d", told, len(revs))
	}
}

// Each reason that ends a watch has its own status, with the revision from which to
// continue.
func TestFeatureWatchEnds(t *testing.T) {
	keys, file, k := testKeys(t, access.Entry{Name: "goes", Roles: []string{"places:read"}}, access.Entry{Roles: []string{"*:admin"}})
	c := startFeatures(t, store.Options{Watch: store.WatchLimits{Watchers: 6}}, WithKeys(keys))
	ctx := withKey(testContext(t), k[1])
	begin := func(ctx context.Context, filter string) (end func() error, last func() uint64) {
		stream, m := c.watch(ctx, t, &catfishv1.FeatureServiceWatchRequest{Query: &catfishv1.Query{Filter: filter}})
		return func() error {
			for {
				next, err := stream.Recv()
				if err != nil {
					return err
				}
				m = next
			}
		}, func() uint64 { return m.GetRevision() }
	}
	check := func(what string, err error, code codes.Code, reason string, revision uint64) {
		t.Helper()
		want := ""
		if revision > 0 {
			want = fmt.Sprint(revision)
		}
		if d := detailsOf(err); d.code != code || d.reason != reason || d.meta[MetadataRevision] != want {
			t.Errorf("%s: %v: %v, want revision %q", what, err, d, want)
		}
	}
	put := func(id string) uint64 {
		res, err := c.Put(ctx, &catfishv1.FeatureServicePutRequest{Collection: "places", Feature: pbPoint(id, 1, 1, `{"n":"x"}`)})
		if err != nil {
			t.Fatal(err)
		}
		return res.GetRevision()
	}

	// A busy machine may need longer for the first message.
	for d := 50 * time.Millisecond; ; d *= 2 {
		short, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		stream, err := c.Watch(short, &catfishv1.FeatureServiceWatchRequest{Collection: "places"})
		began := false
		for err == nil {
			if _, err = stream.Recv(); err == nil {
				began = true
			}
		}
		check("deadline", err, codes.DeadlineExceeded, "", 0)
		if began || t.Failed() {
			break
		}
	}

	twenty := strings.Trim(strings.Repeat("1,", 20), ",")
	end, _ := begin(ctx, fmt.Sprintf(`[%[1]s].all(a, [%[1]s].all(b, [%[1]s].all(c, [%[1]s].all(d, [%[1]s].all(e, a+b+c+d+e > 0 && properties.n == "x")))))`, twenty))
	rev := put("slow")
	err := end()
	check("filter", err, codes.ResourceExhausted, ReasonFilterCost, rev)
	if got := detailsOf(err).meta[MetadataID]; got != "slow" {
		t.Errorf("filter: id %q", got)
	}

	stream, m := c.watch(withKey(testContext(t), k[0]), t, &catfishv1.FeatureServiceWatchRequest{Query: &catfishv1.Query{}})
	rev = put("a")
	next := func() (err error) {
		var n *catfishv1.FeatureServiceWatchResponse
		if n, err = stream.Recv(); err == nil {
			m = n
		}
		return err
	}
	for m.GetRevision() < rev { // The watch has reached this revision.
		if err := next(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := access.Revoke(file, "goes"); err != nil {
		t.Fatal(err)
	}
	if err := keys.Reload(); err != nil {
		t.Fatal(err)
	}
	for err = next(); err == nil; err = next() {
	}
	check("key", err, codes.Unauthenticated, ReasonNoKey, m.GetRevision())

	dropped, _ := begin(ctx, "")
	if _, err := c.colls.Drop(ctx, &catfishv1.CollectionServiceDropRequest{Name: "places"}); err != nil {
		t.Fatal(err)
	}
	check("drop", dropped(), codes.NotFound, ReasonNoCollection, 0)
	if _, err := c.colls.Create(ctx, &catfishv1.CollectionServiceCreateRequest{Name: "places"}); err != nil {
		t.Fatal(err)
	}
	var last func() uint64
	for range 6 {
		end, last = begin(ctx, "")
	}
	_, err = all2(c.Watch(ctx, &catfishv1.FeatureServiceWatchRequest{Collection: "places"}))
	check("too many", err, codes.ResourceExhausted, ReasonWatchLimit, 0)
	c.server.GracefulStop()
	check("stop", end(), codes.Unavailable, ReasonStopping, last())
}

// ring is a polygon of n positions around 0, 0.
func ring(n int) *catfishv1.Query {
	b := []byte(`{"type":"Polygon","coordinates":[[`)
	for i := range n {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n-1))
		if i == n-1 {
			sin, cos = 0, 1
		}
		b = fmt.Appendf(b, "[%.6f,%.6f],", 10*cos, 10*sin)
	}
	b = append(b[:len(b)-1], "]]}"...)
	return &catfishv1.Query{Area: &catfishv1.Area{Shape: &catfishv1.Area_Polygon{Polygon: string(b)}}}
}

// A watched polygon counts in its source's share as it does in the store, whose
// limits are those of the server's budget. It stops counting when the watch ends.
func TestFeatureWatchCountsPolygons(t *testing.T) {
	c := startFeatures(t, store.Options{Watch: store.WatchLimits{Areas: 1000}})
	areas := func() catfish.BudgetStats {
		for _, b := range c.server.Budgets() {
			if b.Name == "areas watched over gRPC" {
				return b
			}
		}
		t.Fatal("no such budget")
		return catfish.BudgetStats{}
	}
	begin := func() (end func(), err error) {
		ctx, cancel := context.WithCancel(testContext(t))
		stream, err := c.Watch(ctx, &catfishv1.FeatureServiceWatchRequest{Collection: "places", Query: ring(64 * 40)})
		if err == nil {
			_, err = stream.Recv()
		}
		return cancel, err
	}
	end, err := begin()
	if err != nil {
		t.Fatal(err)
	}
	if b := areas(); b.Used != limits.WatcherUnits+1+40 || b.Limit != 1000 || b.Share != 250 {
		t.Errorf("%+v", b)
	}
	other, err := begin()
	other()
	if d := detailsOf(err); d.code != codes.ResourceExhausted || d.reason != ReasonWatchLimit {
		t.Errorf("a second one: %v: %v", err, d)
	}
	end()
	for ctx := testContext(t); areas().Used != 0; runtime.Gosched() {
		if ctx.Err() != nil {
			t.Fatalf("%+v is left", areas())
		}
	}
}
