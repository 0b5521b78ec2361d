package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
)

// grpcClient is that of one member.
type grpcClient struct {
	catfishv1.FeatureServiceClient
	collections catfishv1.CollectionServiceClient
	boxes       catfishv1.CatfishServiceClient
}

func dialGRPC(t *testing.T, m *member) grpcClient {
	t.Helper()
	cc, err := grpc.NewClient("passthrough:///"+m.at.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	return grpcClient{catfishv1.NewFeatureServiceClient(cc), catfishv1.NewCollectionServiceClient(cc), catfishv1.NewCatfishServiceClient(cc)}
}

// featuresOf collects a stream, without revisions, which are those of a group.
func featuresOf[T interface{ GetFeatures() []*catfishv1.Feature }](t *testing.T, s interface{ Recv() (T, error) }, err error) (all []*catfishv1.Feature, last T) {
	t.Helper()
	for err == nil {
		var m T
		if m, err = s.Recv(); err == nil {
			all, last = append(all, m.GetFeatures()...), m
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	for _, f := range all {
		f.Revision = 0
	}
	return all, last
}

func same(t *testing.T, what string, got, want []*catfishv1.Feature) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(a, b *catfishv1.Feature) bool { return proto.Equal(a, b) }) {
		t.Errorf("%s: %d features, want %d", what, len(got), len(want))
		for i := range min(len(got), len(want)) {
			if !proto.Equal(got[i], want[i]) {
				t.Errorf("  number %d is %v, want %v", i, got[i], want[i])
				break
			}
		}
	}
}

// Each member of two groups answers over gRPC as one server would that has all.
func TestGroupsGRPC(t *testing.T) {
	t.Parallel()
	members, alone := groupsAndAlone(t)
	ctx, want := t.Context(), dialGRPC(t, alone)
	first := dialGRPC(t, members["b/n1"])
	for _, c := range []grpcClient{first, want} {
		if _, err := c.collections.Create(ctx, &catfishv1.CollectionServiceCreateRequest{Name: "places", Title: "Places"}); err != nil {
			t.Fatal(err)
		}
		load(t, c, 3000)
	}
	everywhere := &catfishv1.Area{Shape: &catfishv1.Area_Box{Box: &catfishv1.Box{West: -10, South: -10, East: 10, North: 10}}}
	circle := &catfishv1.Area{Shape: &catfishv1.Area_Circle{Circle: &catfishv1.Circle{X: 1, Y: 1, Radius: 60_000}}}
	for name, m := range members {
		c := dialGRPC(t, m)
		for what, req := range map[string]*catfishv1.FeatureServiceSearchRequest{
			"all": {}, "by id": {Order: catfishv1.Order_ORDER_ID, Query: &catfishv1.Query{Area: everywhere}},
			"a page": {Order: catfishv1.Order_ORDER_ID, Limit: 300, Query: &catfishv1.Query{Filter: "properties.n % 3 == 1"}},
			"near":   {Order: catfishv1.Order_ORDER_DISTANCE, Limit: 40, Query: &catfishv1.Query{Area: circle}},
			"any":    {Query: &catfishv1.Query{Area: circle, Filter: "properties.n > 100"}},
			"fields": {Order: catfishv1.Order_ORDER_ID, Limit: 10, Selection: &catfishv1.Selection{NoProperties: true}},
		} {
			req.Collection = "places"
			for page := 0; ; page++ {
				s, err := c.Search(ctx, req)
				got, last := featuresOf(t, s, err)
				s, err = want.Search(ctx, req)
				has, end := featuresOf(t, s, err)
				if req.Order == catfishv1.Order_ORDER_UNSPECIFIED {
					for _, l := range [][]*catfishv1.Feature{got, has} {
						slices.SortFunc(l, func(a, b *catfishv1.Feature) int { return cmp.Compare(a.Id, b.Id) })
					}
				}
				same(t, fmt.Sprintf("%s: %s, page %d", name, what, page), got, has)
				if last.GetMore() != end.GetMore() || last.GetNextPageToken() != end.GetNextPageToken() {
					t.Errorf("%s: %s: the next page is %v %q, want %v %q", name, what, last.GetMore(), last.GetNextPageToken(), end.GetMore(), end.GetNextPageToken())
				}
				if req.PageToken = end.GetNextPageToken(); req.PageToken == "" || page == 4 {
					break
				}
			}
		}
		near := &catfishv1.FeatureServiceNearestRequest{Collection: "places", Point: &catfishv1.Point{X: 2, Y: 1}, K: 50, Filter: "properties.n > 10"}
		s, err := c.Nearest(ctx, near)
		got, _ := featuresOf(t, s, err)
		s, err = want.Nearest(ctx, near)
		has, _ := featuresOf(t, s, err)
		same(t, name+": nearest", got, has)
		many := &catfishv1.FeatureServiceGetManyRequest{Collection: "places"}
		for i := range 100 {
			many.Ids = append(many.Ids, fmt.Sprint("p", 40*i))
		}
		g, err := c.GetMany(ctx, many)
		got, _ = featuresOf(t, g, err)
		g, err = want.GetMany(ctx, many)
		has, _ = featuresOf(t, g, err)
		same(t, name+": get many", got, has)
		for _, q := range []*catfishv1.Query{nil, {Area: circle}, {Filter: "properties.n < 99"}} {
			n, err := c.Count(ctx, &catfishv1.FeatureServiceCountRequest{Collection: "places", Query: q})
			m, e := want.Count(ctx, &catfishv1.FeatureServiceCountRequest{Collection: "places", Query: q})
			if err != nil || e != nil || n.Count != m.Count || n.Count == 0 {
				t.Errorf("%s: count of %v: %v %v, want %v %v", name, q, n, err, m, e)
			}
		}
		l, err := c.collections.List(ctx, &catfishv1.CollectionServiceListRequest{})
		if err != nil || len(l.Collections) != 2 || l.Collections[1].Count != 3000 {
			t.Errorf("%s: %v, %v", name, l, err)
		}
		d, err := c.collections.Describe(ctx, &catfishv1.CollectionServiceDescribeRequest{Name: "places"})
		w, e := want.collections.Describe(ctx, &catfishv1.CollectionServiceDescribeRequest{Name: "places"})
		if err != nil || e != nil || !proto.Equal(d.Extent, w.Extent) || len(d.Properties) != len(w.Properties) || !proto.Equal(d.Collection, w.Collection) {
			t.Errorf("%s: %v, %v, want %v, %v", name, d, err, w, e)
		}
	}
	for name, m := range members {
		writesOverGRPC(ctx, t, name, dialGRPC(t, m), want)
	}
	refused(t, first)
}

func load(t *testing.T, c grpcClient, n int) {
	t.Helper()
	up, err := c.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < n; i += 500 {
		m := &catfishv1.FeatureServiceLoadRequest{Collection: "places"}
		for j := i; j < i+500; j++ {
			m.Features = append(m.Features, featureAt(fmt.Sprint("p", j), j))
		}
		if err := up.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := up.CloseAndRecv(); err != nil || r.Stored != uint64(n) {
		t.Fatal(r, err)
	}
}

func featureAt(id string, n int) *catfishv1.Feature {
	return &catfishv1.Feature{Id: id, Properties: fmt.Sprintf(`{"n":%d}`, n),
		Geometry: &catfishv1.Feature_Geojson{Geojson: fmt.Sprintf(`{"type":"Point","coordinates":[%g,%g]}`, float64(n%60)/20, float64(n/60)/20)}}
}

// writesOverGRPC makes the same writes by two clients, and compares their outcomes.
func writesOverGRPC(ctx context.Context, t *testing.T, name string, c, want grpcClient) {
	t.Helper()
	both := func(what string, call func(c grpcClient) (string, error)) {
		t.Helper()
		got, err := call(c)
		has, e := call(want)
		if got != has || status.Code(err) != status.Code(e) {
			t.Errorf("%s: %s: %q %v, want %q %v", name, what, got, err, has, e)
		}
	}
	for i := range 6 {
		id := fmt.Sprint("new-", i)
		for round := range 2 {
			both("put if absent", func(c grpcClient) (string, error) {
				r, err := c.Put(ctx, &catfishv1.FeatureServicePutRequest{Collection: "places", Feature: featureAt(id, 5000+i), IfAbsent: true})
				return r.GetId(), err
			})
			both("put", func(c grpcClient) (string, error) {
				r, err := c.Put(ctx, &catfishv1.FeatureServicePutRequest{Collection: "places", Feature: featureAt(id, 6000+i+round)})
				return r.GetId(), err
			})
			both("patch", func(c grpcClient) (string, error) {
				_, err := c.Patch(ctx, &catfishv1.FeatureServicePatchRequest{Collection: "places", Id: id, Properties: `{"more":1}`})
				return "", err
			})
			both("get", func(c grpcClient) (string, error) {
				r, err := c.Get(ctx, &catfishv1.FeatureServiceGetRequest{Collection: "places", Id: id})
				return r.GetFeature().GetProperties(), err
			})
		}
		if i%2 == 0 {
			for range 2 {
				both("delete", func(c grpcClient) (string, error) {
					_, err := c.Delete(ctx, &catfishv1.FeatureServiceDeleteRequest{Collection: "places", Id: id})
					return "", err
				})
			}
		}
	}
	both("delete where", func(c grpcClient) (string, error) {
		r, err := c.DeleteWhere(ctx, &catfishv1.FeatureServiceDeleteWhereRequest{Collection: "places", Query: &catfishv1.Query{Filter: "properties.n >= 5000"}, Limit: 2})
		return fmt.Sprint(r.GetDeleted()), err
	})
	both("delete where", func(c grpcClient) (string, error) {
		r, err := c.DeleteWhere(ctx, &catfishv1.FeatureServiceDeleteWhereRequest{Collection: "places", Query: &catfishv1.Query{Filter: "properties.n >= 5000"}})
		return fmt.Sprint(r.GetDeleted()), err
	})
	for range 2 {
		both("create", func(c grpcClient) (string, error) {
			r, err := c.collections.Create(ctx, &catfishv1.CollectionServiceCreateRequest{Name: "more"})
			return r.GetCollection().GetName(), err
		})
	}
	for range 2 {
		both("drop", func(c grpcClient) (string, error) {
			_, err := c.collections.Drop(ctx, &catfishv1.CollectionServiceDropRequest{Name: "more"})
			return "", err
		})
	}
}

// What is not made of several groups says so.
func refused(t *testing.T, c grpcClient) {
	t.Helper()
	_, stats := c.boxes.Stats(t.Context(), &catfishv1.StatsRequest{})
	if _, err := c.collections.Create(t.Context(), &catfishv1.CollectionServiceCreateRequest{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	_, swap := c.collections.Swap(t.Context(), &catfishv1.CollectionServiceSwapRequest{Name: "places", Other: "other"})
	for what, err := range map[string]error{"boxes": stats, "swapping": swap} {
		if status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
