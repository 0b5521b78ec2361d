package api

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"google.golang.org/protobuf/proto"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store"
)

// spot is a point with a number, which the test keeps in addition to the server.
type spot struct {
	id   string
	x, y float64
	n    int
}

func (s spot) proto() *catfishv1.Feature {
	return pbPoint(s.id, s.x, s.y, fmt.Sprintf(`{"n":%d,"name":"spot %d","odd":%v}`, s.n, s.n, s.n%2 == 1))
}

// distance uses the haversine formula.
func (s spot) distance(x, y float64) float64 {
	rad := math.Pi / 180
	a, b := math.Sin((s.y-y)*rad/2), math.Sin((s.x-x)*rad/2)
	h := a*a + b*b*math.Cos(s.y*rad)*math.Cos(y*rad)
	return 2 * feature.EarthRadius * math.Asin(math.Sqrt(h))
}

// scatter stores n spots in "places", also in areas crossing 180 degrees.
func scatter(t testing.TB, c featureClient, n int) []spot {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	spots := make([]spot, n)
	var reqs []*catfishv1.FeatureServiceLoadRequest
	for i := range spots {
		spots[i] = spot{fmt.Sprintf("spot-%d", rng.Uint32()), rng.Float64()*360 - 180, rng.Float64()*160 - 80, i}
		if i%500 == 0 {
			reqs = append(reqs, &catfishv1.FeatureServiceLoadRequest{})
		}
		m := reqs[len(reqs)-1]
		m.Features = append(m.Features, spots[i].proto())
	}
	reqs[0].Collection = "places"
	res, err := c.loadFeatures(testContext(t), reqs...)
	if err != nil || res.GetStored() != uint64(n) || res.GetReceived() != uint64(n) || res.GetRejected() != 0 {
		t.Fatalf("loaded %v, %v", res, err)
	}
	slices.SortFunc(spots, func(a, b spot) int { return cmp.Compare(a.id, b.id) })
	return spots
}

func ids(spots []spot, keep func(spot) bool) (ids []string) {
	for _, s := range spots {
		if keep(s) {
			ids = append(ids, s.id)
		}
	}
	return ids
}

// TestSearchAgainstScan compares answers of all orders, in one page and in
// many, and counts, with a scan of the stored spots.
func TestSearchAgainstScan(t *testing.T) {
	c := startFeatures(t, store.Options{})
	ctx := testContext(t)
	spots := scatter(t, c, 3000)
	triangle := func(s spot) bool { return s.x >= 10 && s.y >= 10 && s.x+s.y <= 90 }
	for name, q := range map[string]struct {
		query *catfishv1.Query
		keep  func(spot) bool
	}{
		"everything": {nil, func(spot) bool { return true }},
		"box": {&catfishv1.Query{Area: boxArea(-20, -30, 60, 40)},
			func(s spot) bool { return s.x >= -20 && s.x <= 60 && s.y >= -30 && s.y <= 40 }},
		"across 180 degrees": {&catfishv1.Query{Area: boxArea(150, -90, -160, 90), Relation: catfishv1.Relation_RELATION_WITHIN},
			func(s spot) bool { return s.x >= 150 || s.x <= -160 }},
		"polygon and filter": {&catfishv1.Query{
			Area:   polygonArea(`{"type":"Polygon","coordinates":[[[10,10],[80,10],[10,80],[10,10]]]}`),
			Filter: "properties.odd && properties.n > 500",
		}, func(s spot) bool { return triangle(s) && s.n%2 == 1 && s.n > 500 }},
		"circle": {&catfishv1.Query{Area: circleArea(170, 60, 4e6)},
			func(s spot) bool { return s.distance(170, 60) <= 4e6 }},
		"filter alone": {&catfishv1.Query{Filter: "properties.n < 700"}, func(s spot) bool { return s.n < 700 }},
		"nothing":      {&catfishv1.Query{Filter: "properties.n < 0"}, func(spot) bool { return false }},
	} {
		t.Run(name, func(t *testing.T) {
			want := ids(spots, q.keep)
			got, err := c.find(ctx, &catfishv1.FeatureServiceSearchRequest{Query: q.query})
			slices.Sort(got.ids)
			if err != nil || !slices.Equal(got.ids, want) || got.more || got.token != "" {
				t.Fatalf("%d of %d features, more %v, token %q, %v", len(got.ids), len(want), got.more, got.token, err)
			}
			n, err := c.FeatureServiceClient.Count(ctx, &catfishv1.FeatureServiceCountRequest{Collection: "places", Query: q.query})
			if err != nil || n.GetCount() != uint64(len(want)) {
				t.Fatalf("counted %v of %d, %v", n, len(want), err)
			}
			// With a limit: any of them, and whether there are more.
			limited, err := c.find(ctx, &catfishv1.FeatureServiceSearchRequest{Query: q.query, Limit: 70})
			if err != nil || len(limited.ids) != min(70, len(want)) || limited.more != (len(want) > 70) || limited.token != "" {
				t.Fatalf("limit 70: %d of %d, more %v, token %q, %v", len(limited.ids), len(want), limited.more, limited.token, err)
			}
			for _, id := range limited.ids {
				if _, ok := slices.BinarySearch(want, id); !ok {
					t.Fatalf("limit 70: %q does not match", id)
				}
			}
			for _, limit := range []uint32{0, 1 + uint32(len(want))/3, uint32(len(want)), 1 + uint32(len(want))} {
				if got := c.pages(t, &catfishv1.FeatureServiceSearchRequest{
					Query: q.query, Order: catfishv1.Order_ORDER_ID, Limit: limit,
				}); !slices.Equal(got, want) {
					t.Errorf("by id, %d a page: got %d, want %d", limit, len(got), len(want))
				}
			}
			if q.query.GetArea() == nil {
				return
			}
			near := slices.Clone(want)
			at := map[string]float64{}
			for _, s := range spots {
				at[s.id] = s.distance(20, 30)
			}
			slices.SortFunc(near, func(a, b string) int { return cmp.Compare(at[a], at[b]) })
			for _, limit := range []uint32{0, 1 + uint32(len(want))/7} {
				if got := c.pages(t, &catfishv1.FeatureServiceSearchRequest{
					Query: q.query, Order: catfishv1.Order_ORDER_DISTANCE, Limit: limit, From: &catfishv1.Point{X: 20, Y: 30},
				}); !slices.Equal(got, near) {
					t.Errorf("by distance, %d a page: got %d, want %d", limit, len(got), len(near))
				}
			}
		})
	}
}

// pages reads a whole answer, page by page.
func (c featureClient) pages(t *testing.T, req *catfishv1.FeatureServiceSearchRequest) (ids []string) {
	t.Helper()
	for {
		p, err := c.find(testContext(t), req)
		if err != nil {
			t.Fatal(err)
		}
		if l := int(req.Limit); l > 0 && len(p.ids) > l || p.more != (p.token != "") {
			t.Fatalf("page of %d, limit %d, more %v, token %q", len(p.ids), l, p.more, p.token)
		}
		if ids = append(ids, p.ids...); !p.more {
			return ids
		}
		req = proto.CloneOf(req)
		req.PageToken = p.token
	}
}

// TestPagesDuringWrites: a feature that existed throughout is returned exactly once.
func TestPagesDuringWrites(t *testing.T) {
	c := startFeatures(t, store.Options{})
	spots := scatter(t, c, 1000)
	kept := spots[100:900]
	rng := rand.New(rand.NewPCG(1, 1))
	for _, req := range []*catfishv1.FeatureServiceSearchRequest{
		{Order: catfishv1.Order_ORDER_ID, Limit: 90},
		{Order: catfishv1.Order_ORDER_ID, Limit: 90, Query: &catfishv1.Query{Area: boxArea(-180, -90, 180, 90)}},
		{Order: catfishv1.Order_ORDER_DISTANCE, Limit: 90, Query: &catfishv1.Query{Area: circleArea(0, 0, 3e7)}},
	} {
		seen := map[string]int{}
		for {
			p, err := c.find(testContext(t), req)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range p.ids {
				seen[id]++
			}
			if !p.more {
				break
			}
			req.PageToken = p.token
			for range 20 { // Others are added, moved and deleted.
				s := spots[rng.IntN(100)+rng.IntN(2)*900]
				s.x, s.y = rng.Float64()*360-180, rng.Float64()*180-90
				c.put(t, s.proto())
				s.id = fmt.Sprint("spot-new-", rng.Uint32())
				c.put(t, s.proto())
			}
		}
		for _, s := range kept {
			if seen[s.id] != 1 {
				t.Errorf("%v: %q was given %d times", req.Order, s.id, seen[s.id])
			}
		}
	}
}

func TestNearestFeatures(t *testing.T) {
	c := startFeatures(t, store.Options{})
	ctx := testContext(t)
	spots := scatter(t, c, 2000)
	for _, at := range []orb.Point{{179.9, 10}, {-30, 79}, {5, 5}} {
		for name, q := range map[string]struct {
			k      uint32
			most   float64
			filter string
			keep   func(spot) bool
		}{
			"k":          {17, 0, "", func(spot) bool { return true }},
			"filter":     {300, 0, "properties.odd", func(s spot) bool { return s.n%2 == 1 }},
			"within":     {0, 3e6, "properties.n < 900", func(s spot) bool { return s.n < 900 && s.distance(at[0], at[1]) <= 3e6 }},
			"k of those": {5, 3e6, "", func(s spot) bool { return s.distance(at[0], at[1]) <= 3e6 }},
		} {
			want := ids(spots, q.keep)
			d := map[string]float64{}
			for _, s := range spots {
				d[s.id] = s.distance(at[0], at[1])
			}
			slices.SortFunc(want, func(a, b string) int { return cmp.Compare(d[a], d[b]) })
			if q.k > 0 {
				want = want[:min(len(want), int(q.k))]
			}
			req := &catfishv1.FeatureServiceNearestRequest{
				Collection: "places", Point: &catfishv1.Point{X: at[0], Y: at[1]}, K: q.k, Filter: q.filter,
			}
			if q.most > 0 {
				req.MaxDistance = &q.most
			}
			got, err := all(c.FeatureServiceClient.Nearest(ctx, req))
			if err != nil || len(got) != len(want) {
				t.Fatalf("%s: %d features, want %d, %v", name, len(got), len(want), err)
			}
			for i, f := range got {
				if f.GetId() != want[i] || math.Abs(f.GetDistance()-d[want[i]]) > 1e-3 {
					t.Fatalf("%s: %d is %q at %v m, want %q at %v m", name, i, f.GetId(), f.GetDistance(), want[i], d[want[i]])
				}
			}
		}
	}
}

// TestAnswersOfManyBytes checks that batches hold features of any size, and that
// all of an answer arrives.
func TestAnswersOfManyBytes(t *testing.T) {
	c := startFeatures(t, store.Options{})
	ctx := testContext(t)
	var want []string
	for i := range 40 {
		id := fmt.Sprintf("%03d", i)
		c.put(t, pbPoint(id, float64(i)/100, 0, `{"text":"`+strings.Repeat("x", i*i*50)+`"}`))
		want = append(want, id)
	}
	for _, req := range []*catfishv1.FeatureServiceSearchRequest{
		{},
		{Query: &catfishv1.Query{Area: boxArea(-1, -1, 1, 1)}},
		{Order: catfishv1.Order_ORDER_DISTANCE, Query: &catfishv1.Query{Area: circleArea(0, 0, 1e6)}},
	} {
		p, err := c.find(ctx, req)
		slices.Sort(p.ids)
		if err != nil || !slices.Equal(p.ids, want) || p.batches < 20 {
			t.Fatalf("%v: %d features in %d batches, %v", req, len(p.ids), p.batches, err)
		}
		for _, f := range p.features {
			var i int
			if _, err := fmt.Sscanf(f.GetId(), "%d", &i); err != nil || len(f.GetProperties()) != i*i*50+len(`{"text":""}`) {
				t.Errorf("%q has %d bytes of properties, %v", f.GetId(), len(f.GetProperties()), err)
			}
		}
	}
	many, err := all(c.GetMany(ctx, &catfishv1.FeatureServiceGetManyRequest{
		Collection: "places", Ids: []string{"039", "none", "000", "039"},
	}))
	if err != nil || len(many) != 3 || many[0].GetId() != "039" || many[1].GetId() != "000" || many[2].GetId() != "039" {
		t.Errorf("got %v, %v", many, err)
	}
}

// TestRelations: a country and a town, found by a box between their sizes.
func TestRelations(t *testing.T) {
	c := startFeatures(t, store.Options{})
	for id, size := range map[string]float64{"country": 10, "town": 1} {
		c.put(t, &catfishv1.Feature{Id: id, Geometry: geojson(fmt.Sprintf(
			`{"type":"Polygon","coordinates":[[[%[1]v,%[1]v],[%[2]v,%[1]v],[%[2]v,%[2]v],[%[1]v,%[2]v],[%[1]v,%[1]v]]]}`, -size, size))})
	}
	for relation, want := range map[catfishv1.Relation][]string{
		catfishv1.Relation_RELATION_UNSPECIFIED: {"country", "town"},
		catfishv1.Relation_RELATION_INTERSECTS:  {"country", "town"},
		catfishv1.Relation_RELATION_WITHIN:      {"town"},
		catfishv1.Relation_RELATION_CONTAINS:    {"country"},
	} {
		p, err := c.find(testContext(t), &catfishv1.FeatureServiceSearchRequest{
			Query: &catfishv1.Query{Area: boxArea(-5, -5, 5, 5), Relation: relation},
		})
		slices.Sort(p.ids)
		if err != nil || !slices.Equal(p.ids, want) {
			t.Errorf("%v: %v, %v, want %v", relation, p.ids, err, want)
		}
	}
}
