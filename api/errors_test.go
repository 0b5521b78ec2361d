package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	failures "github.com/catfish-index/catfish/internal/status"
	"github.com/catfish-index/catfish/rstar"
)

// details are the parts of a status that a client acts on.
type details struct {
	code   codes.Code
	reason string
	field  string // of the first violation
	retry  bool   // RetryInfo is present
	meta   map[string]string
	load   *catfishv1.LoadResponse
}

func detailsOf(err error) details {
	st := status.Convert(err)
	d := details{code: st.Code()}
	for _, m := range st.Details() {
		switch m := m.(type) {
		case *errdetails.ErrorInfo:
			d.reason, d.meta = m.GetReason(), m.GetMetadata()
		case *errdetails.BadRequest:
			d.field = m.GetFieldViolations()[0].GetField()
		case *errdetails.RetryInfo:
			d.retry = m.GetRetryDelay().AsDuration() > 0
		case *catfishv1.LoadResponse:
			d.load = m
		}
	}
	return d
}

// TestBadRequests checks the status, the field and the message of every
// kind of bad input, and that none of it reaches the collection.
func TestBadRequests(t *testing.T) {
	col := &faulty{treeOf(t), func(op string) error {
		return fmt.Errorf("%s was called", op)
	}}
	c := startBufconn(t, trees{"default": col}.alone())
	ctx := testContext(t)

	ok := &catfishv1.Rect{MaxX: 1, MaxY: 1}
	nan := &catfishv1.Rect{MinX: math.NaN(), MaxX: 1, MaxY: 1}
	inf := &catfishv1.Rect{MaxX: 1, MaxY: math.Inf(1)}
	swapped := &catfishv1.Rect{MinX: 2, MaxX: 1, MaxY: 1}
	insert := func(it *catfishv1.Item) error {
		_, err := c.Insert(ctx, &catfishv1.InsertRequest{Item: it})
		return err
	}
	update := func(from, to *catfishv1.Rect) error {
		_, err := c.Update(ctx, &catfishv1.UpdateRequest{
			OldRect: from, NewRect: to,
		})
		return err
	}
	del := func(it *catfishv1.Item) error {
		_, err := c.Delete(ctx, &catfishv1.DeleteRequest{Item: it})
		return err
	}
	search := func(q *catfishv1.Rect) error {
		_, err := c.search(ctx, &catfishv1.SearchRequest{Query: q})
		return err
	}
	count := func(q *catfishv1.Rect) error {
		_, err := c.Count(ctx, &catfishv1.CountRequest{Query: q})
		return err
	}
	nearest := func(x, y float64, k uint32, d *float64) error {
		_, err := c.nearest(ctx, &catfishv1.NearestRequest{
			X: x, Y: y, K: k, MaxDistance: d,
		})
		return err
	}
	load := func(names ...string) error {
		stream, err := c.Load(ctx)
		for _, n := range names {
			if err == nil {
				err = stream.Send(&catfishv1.LoadRequest{Collection: n})
			}
		}
		_, err = stream.CloseAndRecv()
		return err
	}
	many := func(qs ...*catfishv1.Rect) error {
		_, err := c.searchMany(ctx, &catfishv1.SearchManyRequest{Queries: qs})
		return err
	}
	negative, notANumber := -0.5, math.NaN()

	for _, tc := range []struct {
		name, field, reason, text string
		err                       error
	}{
		{"no item", "item", ReasonBadField, "missing", insert(nil)},
		{"no rect", "item.rect", ReasonBadField, "missing",
			insert(&catfishv1.Item{Id: 1})},
		{"nan", "item.rect", ReasonBadRect, "minx is NaN",
			insert(&catfishv1.Item{Rect: nan})},
		{"inf", "item.rect", ReasonBadRect, "maxy is +Inf",
			del(&catfishv1.Item{Rect: inf})},
		{"no item to delete", "item", ReasonBadField, "missing", del(nil)},
		{"min > max", "query", ReasonBadRect, "minx 2 exceeds maxx 1",
			search(swapped)},
		{"no query", "query", ReasonBadField, "missing", search(nil)},
		{"bad one of many", "queries[1]", ReasonBadRect, "NaN", many(ok, nan)},
		{"too many", "queries", ReasonBadField, "1025 elements, want at most 1024",
			many(slices.Repeat([]*catfishv1.Rect{ok}, MaxQueries+1)...)},
		{"bad count", "query", ReasonBadRect, "NaN", count(nan)},
		{"old", "old_rect", ReasonBadRect, "NaN", update(nan, ok)},
		{"new", "new_rect", ReasonBadField, "missing", update(ok, nil)},
		{"x", "x", ReasonBadField, "NaN", nearest(math.NaN(), 0, 1, nil)},
		{"y", "y", ReasonBadField, "-Inf", nearest(0, math.Inf(-1), 1, nil)},
		{"no k", "k", ReasonBadField, "want one", nearest(0, 0, 0, nil)},
		{"radius", "max_distance", ReasonBadField, "-0.5",
			nearest(0, 0, 1, &negative)},
		{"nan radius", "max_distance", ReasonBadField, "NaN",
			nearest(0, 0, 1, &notANumber)},
		{"no message", "collection", ReasonBadField, "first message", load()},
		{"other name", "collection", ReasonBadField, `"roads"`,
			load("", "roads")},
	} {
		d := detailsOf(tc.err)
		if d.code != codes.InvalidArgument || d.field != tc.field ||
			d.reason != tc.reason || d.retry ||
			!strings.Contains(tc.err.Error(), tc.text) {
			t.Errorf("%s: %v: %+v", tc.name, tc.err, d)
		}
	}
}

// everyCall sends each call once, valid except for the collection's name.
func everyCall(ctx context.Context, c client, collection string) map[string]error {
	r := &catfishv1.Rect{MaxX: 1, MaxY: 1}
	it := &catfishv1.Item{Id: 1, Rect: r}
	errs := map[string]error{}
	_, errs["Insert"] = c.Insert(ctx,
		&catfishv1.InsertRequest{Collection: collection, Item: it})
	_, errs["Update"] = c.Update(ctx, &catfishv1.UpdateRequest{
		Collection: collection, Id: 1, OldRect: r, NewRect: r})
	_, errs["Delete"] = c.Delete(ctx,
		&catfishv1.DeleteRequest{Collection: collection, Item: it})
	_, errs["Search"] = c.search(ctx,
		&catfishv1.SearchRequest{Collection: collection, Query: r})
	_, errs["SearchMany"] = c.searchMany(ctx, &catfishv1.SearchManyRequest{
		Collection: collection, Queries: []*catfishv1.Rect{r}})
	_, errs["Nearest"] = c.nearest(ctx,
		&catfishv1.NearestRequest{Collection: collection, K: 1})
	_, errs["Count"] = c.Count(ctx,
		&catfishv1.CountRequest{Collection: collection, Query: r})
	_, errs["Load"] = c.load(ctx, collection,
		[]rstar.Item{{Rect: goRect(r), ID: 1}}, 1)
	_, errs["Stats"] = c.Stats(ctx,
		&catfishv1.StatsRequest{Collection: collection})
	return errs
}

func TestUnknownCollection(t *testing.T) {
	c := startBufconn(t, trees{"default": treeOf(t)}.alone())
	for call, err := range everyCall(testContext(t), c, "rivers") {
		d := detailsOf(err)
		if d.code != codes.NotFound || d.reason != ReasonNoCollection ||
			d.meta[MetadataCollection] != "rivers" ||
			!strings.Contains(err.Error(), `"rivers"`) {
			t.Errorf("%s: %v: %+v", call, err, d)
		}
	}
	long := strings.Repeat("x", MaxNameBytes+1)
	for call, err := range everyCall(testContext(t), c, long) {
		d := detailsOf(err)
		if d.code != codes.InvalidArgument || d.field != "collection" ||
			!strings.Contains(err.Error(), "129 bytes, at most 128") {
			t.Errorf("%s: %v: %+v", call, err, d)
		}
	}
}

// TestCollectionErrors injects the errors of a collection into the calls
// that return one.
func TestCollectionErrors(t *testing.T) {
	var fault error
	c := startBufconn(t, trees{"default": &faulty{
		treeOf(t), func(string) error { return fault },
	}}.alone())
	for _, tc := range []struct {
		err    error
		code   codes.Code
		reason string
		retry  bool
	}{
		{rstar.ErrBadRect, codes.InvalidArgument, ReasonBadRect, false},
		{rstar.ErrSlabFull, codes.ResourceExhausted, ReasonSlabFull, false},
		{rstar.ErrClosed, codes.Unavailable, ReasonClosed, true},
		{context.DeadlineExceeded, codes.DeadlineExceeded, "", false},
		{context.Canceled, codes.Canceled, "", false},
		{errors.New("disk on fire"), codes.Internal, ReasonInternal, false},
		{status.Error(codes.Aborted, "a proxy's"), codes.Aborted, "", false},
	} {
		fault = fmt.Errorf("wrapped: %w", tc.err)
		errs := everyCall(testContext(t), c, "")
		for _, call := range []string{"Insert", "Update", "Delete", "Load"} {
			d := detailsOf(errs[call])
			if d.code != tc.code || d.reason != tc.reason || d.retry != tc.retry {
				t.Errorf("%v from %s: %v: %+v", tc.err, call, errs[call], d)
			}
			if (call == "Load") != (d.load != nil) {
				t.Errorf("%v from %s: load detail %v", tc.err, call, d.load)
			}
		}
	}
}

// TestResultLimit checks that an answer beyond the limit is refused as a
// whole, and one at the limit is not.
func TestResultLimit(t *testing.T) {
	items := randomItems(rand.New(rand.NewPCG(3, 4)), 500)
	radius := 10.0
	for _, tc := range []struct {
		max     int
		refused bool
	}{{499, true}, {500, false}} {
		c := startBufconn(t, trees{"default": treeOf(t, items...)}.alone(),
			WithMaxResults(tc.max))
		ctx := testContext(t)
		got, serr := c.search(ctx, &catfishv1.SearchRequest{
			Query: pbRect(world), Limit: 600,
		})
		near, nerr := c.nearest(ctx, &catfishv1.NearestRequest{
			MaxDistance: &radius,
		})
		if !tc.refused {
			if serr != nil || nerr != nil || len(got) != 500 || len(near) != 500 {
				t.Fatalf("max %d: %d %v, %d %v", tc.max,
					len(got), serr, len(near), nerr)
			}
			continue
		}
		for _, err := range []error{serr, nerr} {
			d := detailsOf(err)
			if d.code != codes.ResourceExhausted || d.retry ||
				d.reason != ReasonResultTooLarge || d.meta[MetadataLimit] != "499" {
				t.Fatalf("max %d: %v: %+v", tc.max, err, d)
			}
		}
		// An explicit limit within it is served.
		got, err := c.search(ctx, &catfishv1.SearchRequest{
			Query: pbRect(world), Limit: 499,
		})
		if err != nil || len(got) != 499 || len(near) != 0 {
			t.Fatalf("limit 499: %d, %v; near %d", len(got), err, len(near))
		}
	}
}

// TestRetryInfoFollowsTheTable: an error has a RetryInfo if another attempt may succeed.
func TestRetryInfoFollowsTheTable(t *testing.T) {
	for code := failures.BadRequest; code <= failures.RateLimited; code++ {
		err := failures.OfWire(code)
		if d := detailsOf(statusOf("places", fmt.Errorf("op: %w", err))); d.retry != (failures.RetryOf(err) == failures.Safe) {
			t.Errorf("%v: %+v, by the table %d", err, d, failures.RetryOf(err))
		}
	}
}
