package api

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
)

// TestMessagesTooLarge: each kind of call refuses one, with its own details.
func TestMessagesTooLarge(t *testing.T) {
	c := startFeatures(t, store.Options{})
	ctx := testContext(t)
	medium, large := strings.Repeat("x", maxRequestBytes), strings.Repeat("x", DefaultMaxMessageBytes)
	_, get := c.Get(ctx, &catfishv1.FeatureServiceGetRequest{Id: medium})
	_, list := c.colls.List(ctx, &catfishv1.CollectionServiceListRequest{PageToken: medium})
	_, many := all(c.GetMany(ctx, &catfishv1.FeatureServiceGetManyRequest{Ids: []string{medium}}))
	for name, err := range map[string]error{"Get": get, "List": list, "GetMany": many} {
		d := detailsOf(err)
		if d.code != codes.ResourceExhausted || d.reason != ReasonMessageTooLarge || d.meta[MetadataLimit] != "262144" {
			t.Errorf("%s: %v: %+v", name, err, d)
		}
	}
	// Messages of these calls may be large.
	_, put := c.Put(ctx, &catfishv1.FeatureServicePutRequest{Collection: large})
	_, search := c.find(ctx, &catfishv1.FeatureServiceSearchRequest{PageToken: large})
	boxes := catfishv1.NewCatfishServiceClient(c.conn)
	_, insert := boxes.Insert(ctx, &catfishv1.InsertRequest{Collection: medium})
	_, load := func() (*catfishv1.LoadResponse, error) {
		stream, err := boxes.Load(ctx)
		if err != nil {
			return nil, err
		}
		_ = stream.Send(&catfishv1.LoadRequest{Collection: large}) // CloseAndRecv has the error.
		return stream.CloseAndRecv()
	}()
	for name, err := range map[string]error{"put": put, "search": search, "load": load, "insert": insert} {
		limit := strconv.Itoa(DefaultMaxMessageBytes)
		if name == "insert" {
			limit = "262144"
		}
		d := detailsOf(err)
		if d.code != codes.ResourceExhausted || d.reason != ReasonMessageTooLarge || d.meta[MetadataLimit] != limit ||
			!strings.Contains(err.Error(), "at most "+limit) {
			t.Errorf("%s: %v: %+v", name, err, d)
		}
	}
	// Beyond what gRPC receives, the error is gRPC's own.
	_, put = c.Put(ctx, &catfishv1.FeatureServicePutRequest{Collection: strings.Repeat(large, received)})
	if status.Code(put) != codes.ResourceExhausted || detailsOf(put).reason != "" || !strings.Contains(put.Error(), "larger than max") {
		t.Error(put)
	}
	// A feature may be that large.
	properties := `{"a":"` + large[:DefaultMaxMessageBytes-200] + `"}`
	c.put(t, &catfishv1.Feature{Id: "large", Properties: properties})
	if got := c.get(t, "large"); got.GetProperties() != properties {
		t.Errorf("%d bytes of properties", len(got.GetProperties()))
	}
}

func TestFeatureResultLimit(t *testing.T) {
	c := startFeatures(t, store.Options{}, WithMaxResults(50))
	scatter(t, c, 100)
	world := &catfishv1.Query{Area: boxArea(-180, -90, 180, 90)}
	for _, order := range []catfishv1.Order{0, catfishv1.Order_ORDER_DISTANCE} {
		_, err := c.find(testContext(t), &catfishv1.FeatureServiceSearchRequest{Query: world, Order: order, From: &catfishv1.Point{}})
		if d := detailsOf(err); d.code != codes.ResourceExhausted || d.reason != ReasonResultTooLarge || d.meta[MetadataLimit] != "50" {
			t.Errorf("%v: %v: %+v", order, err, d)
		}
	}
	// A search that sends features while it finds them has no limit.
	p, err := c.find(testContext(t), &catfishv1.FeatureServiceSearchRequest{Query: world, Order: catfishv1.Order_ORDER_ID})
	if err != nil || len(p.ids) != 100 {
		t.Errorf("%d features, %v", len(p.ids), err)
	}
}

// countingTurns is a Host that counts scheduling slots.
type countingTurns struct {
	limits.Alone
	n, now atomic.Int64
	after  func(ctx context.Context, n int64)
}

func (b *countingTurns) RunStep(ctx context.Context, _ string, step func()) error {
	if n := b.n.Add(1); b.after != nil {
		b.after(ctx, n)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	b.now.Add(1)
	defer b.now.Add(-1)
	step()
	return nil
}

// TestLongFeatureCallsUseSchedulingSlots, also if their filter matches nothing.
// Short calls use none, and every call releases its slot.
func TestLongFeatureCallsUseSchedulingSlots(t *testing.T) {
	b := &countingTurns{}
	st := openStore(t, store.Options{})
	c := withFeatures(startBufconn(t, trees{}.on(b), WithFeatures(st)), st)
	ctx := testContext(t)
	scatter(t, c, 3000)
	nothing := &catfishv1.Query{Area: boxArea(-180, -90, 180, 90), Filter: "properties.n < 0"}
	count := func(q *catfishv1.Query) error {
		_, err := c.FeatureServiceClient.Count(ctx, &catfishv1.FeatureServiceCountRequest{Collection: "places", Query: q})
		return err
	}
	for name, call := range map[string]func() error{
		"count":          func() error { return count(nothing) },
		"count by id":    func() error { return count(&catfishv1.Query{}) },
		"search":         func() error { return second(c.find(ctx, &catfishv1.FeatureServiceSearchRequest{Query: nothing})) },
		"search in page": func() error { return second(c.find(ctx, &catfishv1.FeatureServiceSearchRequest{})) },
		"nearest": func() error {
			return second(all(c.FeatureServiceClient.Nearest(ctx, &catfishv1.FeatureServiceNearestRequest{
				Collection: "places", Point: &catfishv1.Point{}, K: 5, Filter: nothing.Filter,
			})))
		},
		"delete": func() error {
			return second(c.DeleteWhere(ctx, &catfishv1.FeatureServiceDeleteWhereRequest{Collection: "places", Query: nothing}))
		},
	} {
		b.n.Store(0)
		if err := call(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := b.n.Load(); n < 3000/256-1 {
			t.Errorf("%s: %d turns", name, n)
		}
		for b.now.Load() != 0 { // The goroutine that holds it ends soon.
			if ctx.Err() != nil {
				t.Fatalf("%s keeps its turn", name)
			}
		}
	}
	b.n.Store(0)
	if _, err := c.find(ctx, &catfishv1.FeatureServiceSearchRequest{Query: &catfishv1.Query{Area: boxArea(0, 0, 5, 5)}}); err != nil || b.n.Load() != 0 {
		t.Errorf("a short search: %d turns, %v", b.n.Load(), err)
	}

	// The client disconnects in the middle.
	ctx2, cancel := context.WithCancel(ctx)
	b.n.Store(0)
	b.after = func(ctx context.Context, n int64) {
		if n == 2 {
			cancel()
			<-ctx.Done() // until the server knows
		}
	}
	if _, err := c.FeatureServiceClient.Count(ctx2, &catfishv1.FeatureServiceCountRequest{Collection: "places", Query: nothing}); status.Code(err) != codes.Canceled {
		t.Error(err)
	}
	c.server.GracefulStop()
	if n := b.n.Load(); n >= 3000/256-1 {
		t.Errorf("%d turns of a client that has left", n)
	}
}

// TestSlowReaderOfFeatures: what a client does not take is counted, and the
// call ends.
func TestSlowReaderOfFeatures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startFeatures(t, store.Options{})
		m := &catfishv1.FeatureServiceLoadRequest{Collection: "places"}
		for range 400 {
			m.Features = append(m.Features, pbPoint("", 1, 2, `{"text":"`+strings.Repeat("x", 2000)+`"}`))
		}
		if _, err := c.loadFeatures(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		stream, err := c.FeatureServiceClient.Search(t.Context(), &catfishv1.FeatureServiceSearchRequest{
			Collection: "places", Query: &catfishv1.Query{Area: boxArea(0, 0, 5, 5)},
		})
		if err == nil {
			_, err = stream.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if u := c.use(t, ofCalls); u.Used < 400*2000/2 {
			t.Errorf("%d bytes are held", u.Used)
		}
		time.Sleep(DefaultIdleTimeout + time.Second)
		synctest.Wait()
		if u := c.use(t, ofCalls); u.Used != 0 {
			t.Errorf("held after the idle timeout: %+v", u)
		}
		for err = nil; err == nil; _, err = stream.Recv() {
		}
		if d := detailsOf(err); d.code != codes.Aborted || d.reason != ReasonIdle {
			t.Errorf("the slow reader got %v: %+v", err, d)
		}
		c.conn.Close()
		c.server.Stop()
	})
}

// TestLoadingFeatures: until the features are loaded no call returns an empty
// answer.
func TestLoadingFeatures(t *testing.T) {
	st := openStore(t, store.Options{})
	c := withFeatures(startBufconn(t, trees{"boxes": treeOf(t)}.alone(), WithFeaturesLater()), st)
	ctx := testContext(t)
	health := func(service string) healthpb.HealthCheckResponse_ServingStatus {
		return must[*healthpb.HealthCheckResponse](t)(healthpb.NewHealthClient(c.conn).Check(ctx, &healthpb.HealthCheckRequest{Service: service})).GetStatus()
	}
	services := []string{"", "catfish.v1.FeatureService", "catfish.v1.CollectionService"}
	for _, s := range services {
		if got := health(s); got != healthpb.HealthCheckResponse_NOT_SERVING {
			t.Errorf("%q is %v before", s, got)
		}
	}
	_, search := c.find(ctx, &catfishv1.FeatureServiceSearchRequest{})
	_, list := c.colls.List(ctx, &catfishv1.CollectionServiceListRequest{})
	_, create := c.colls.Create(ctx, &catfishv1.CollectionServiceCreateRequest{Name: "x"})
	for _, err := range []error{search, list, create} {
		if d := detailsOf(err); d.code != codes.Unavailable || d.reason != ReasonLoading || !d.retry {
			t.Errorf("%v: %+v", err, d)
		}
	}
	if _, err := c.CatfishServiceClient.Count(ctx, &catfishv1.CountRequest{Collection: "boxes", Query: pbRect(world)}); err != nil {
		t.Errorf("boxes: %v", err)
	}
	c.server.ServeFeatures(st)
	for _, s := range services {
		if got := health(s); got != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("%q is %v after", s, got)
		}
	}
	if _, err := c.find(ctx, &catfishv1.FeatureServiceSearchRequest{}); err != nil {
		t.Error(err)
	}
}

// TestGzip: a client that compresses gets compressed answers.
func TestGzip(t *testing.T) {
	c := startFeatures(t, store.Options{})
	c.put(t, pbPoint("a", 1, 2, `{"text":"`+strings.Repeat("x", 10_000)+`"}`))
	stream, err := c.FeatureServiceClient.Search(testContext(t), &catfishv1.FeatureServiceSearchRequest{Collection: "places"}, grpc.UseCompressor("gzip"))
	if err != nil {
		t.Fatal(err)
	}
	var header metadata.MD
	if header, err = stream.Header(); err != nil {
		t.Fatal(err)
	}
	m, err := stream.Recv()
	if err != nil || len(m.GetFeatures()) != 1 || len(m.GetFeatures()[0].GetProperties()) != 10_011 {
		t.Errorf("%v, %v", m, err)
	}
	if len(header["content-type"]) == 0 {
		t.Errorf("headers %v", header)
	}
}

// TestOutOfMemoryFeatures: without memory writes are refused and reads work.
func TestOutOfMemoryFeatures(t *testing.T) {
	st := openStore(t, store.Options{})
	b := &fullHost{Alone: limits.Alone{Slots: limits.NewLongSlots()}}
	c := withFeatures(startBufconn(t, trees{}.on(b), WithFeatures(st)), st)
	c.put(t, pbPoint("a", 1, 2, `{}`))
	b.full.Store(true)
	ctx := testContext(t)
	_, put := c.Put(ctx, &catfishv1.FeatureServicePutRequest{Collection: "places", Feature: &catfishv1.Feature{}})
	_, patch := c.Patch(ctx, &catfishv1.FeatureServicePatchRequest{Collection: "places", Id: "a", Properties: "{}"})
	_, load := c.loadFeatures(ctx, &catfishv1.FeatureServiceLoadRequest{Collection: "places", Features: []*catfishv1.Feature{{}}})
	for _, err := range []error{put, patch, load} {
		if d := detailsOf(err); d.code != codes.ResourceExhausted || d.reason != ReasonBusy || !d.retry {
			t.Errorf("%v: %+v", err, d)
		}
	}
	if p, err := c.find(ctx, &catfishv1.FeatureServiceSearchRequest{}); err != nil || len(p.ids) != 1 {
		t.Errorf("%v, %v", p.ids, err)
	}
	if _, err := c.FeatureServiceClient.Delete(ctx, &catfishv1.FeatureServiceDeleteRequest{Collection: "places", Id: "a"}); err != nil {
		t.Error(err)
	}
}

// TestFeatureAnswersAreCounted: an answer that takes more than its source may
// hold is refused.
func TestFeatureAnswersAreCounted(t *testing.T) {
	c := startFeatures(t, store.Options{}, WithMaxAnswerBytes(400<<10))
	scatter(t, c, 3000)
	world := &catfishv1.Query{Area: boxArea(-180, -90, 180, 90)}
	for _, order := range []catfishv1.Order{0, catfishv1.Order_ORDER_DISTANCE} {
		_, err := c.find(testContext(t), &catfishv1.FeatureServiceSearchRequest{Query: world, Order: order, From: &catfishv1.Point{}})
		if d := detailsOf(err); d.code != codes.ResourceExhausted || d.reason != ReasonBusy || !d.retry {
			t.Errorf("%v: %v: %+v", order, err, d)
		}
	}
	if p, err := c.find(testContext(t), &catfishv1.FeatureServiceSearchRequest{}); err != nil || len(p.ids) != 3000 {
		t.Errorf("as it is found: %d features, %v", len(p.ids), err)
	}
}

// TestFeatureFoundTwiceIsReturnedOnce in a search by distance, as it moved meanwhile.
func TestFeatureFoundTwiceIsReturnedOnce(t *testing.T) {
	k := ranking{best: []ranked{{distance: 2, id: "a"}, {distance: 3, id: "b"}, {distance: 1, id: "a"}}}
	k.cut()
	if len(k.best) != 2 || k.best[0].id != "a" || k.best[0].distance != 1 || k.best[1].id != "b" {
		t.Errorf("%+v", k.best)
	}
}

// TestTokenOfAnotherQuery is refused.
func TestTokenOfAnotherQuery(t *testing.T) {
	c := startFeatures(t, store.Options{})
	for _, id := range []string{"a", "b"} {
		c.put(t, pbPoint(id, 1, 2, ""))
	}
	req := &catfishv1.FeatureServiceSearchRequest{Order: catfishv1.Order_ORDER_ID, Limit: 1}
	p, err := c.find(testContext(t), req)
	if err != nil || p.token == "" {
		t.Fatal(p, err)
	}
	req.PageToken = p.token
	req.Query = &catfishv1.Query{Filter: "true"}
	if _, err := c.find(testContext(t), req); detailsOf(err).reason != ReasonBadCursor || detailsOf(err).field != "page_token" {
		t.Error(err)
	}
}
