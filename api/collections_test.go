package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/store"
)

func TestCollections(t *testing.T) {
	c := startFeatures(t, store.Options{})
	ctx := testContext(t)
	made, err := c.colls.Create(ctx, &catfishv1.CollectionServiceCreateRequest{
		Name: "cafés", Kind: catfishv1.CollectionKind_COLLECTION_KIND_FEATURES,
		Space: catfishv1.Space_SPACE_PLANAR, Title: "Cafés", Description: "Of a town.",
	})
	want := &catfishv1.Collection{
		Name: "cafés", Kind: catfishv1.CollectionKind_COLLECTION_KIND_FEATURES,
		Space: catfishv1.Space_SPACE_PLANAR, Title: "Cafés", Description: "Of a town.",
	}
	if err != nil || !proto.Equal(made.GetCollection(), want) {
		t.Fatalf("made %v, %v", made, err)
	}
	// In a plane any coordinates are valid, and distances are planar.
	_, err = c.Put(ctx, &catfishv1.FeatureServicePutRequest{Collection: "cafés", Feature: pbPoint("a", 3000, 4000, "")})
	if err != nil {
		t.Fatal(err)
	}
	near, err := all(c.FeatureServiceClient.Nearest(ctx, &catfishv1.FeatureServiceNearestRequest{Collection: "cafés", Point: &catfishv1.Point{}, K: 1}))
	if err != nil || len(near) != 1 || near[0].GetDistance() != 5000 {
		t.Fatalf("%v, %v", near, err)
	}
	// Creating it again returns the same collection.
	want.Count = 1
	made, err = c.colls.Create(ctx, &catfishv1.CollectionServiceCreateRequest{
		Name: "cafés", Space: catfishv1.Space_SPACE_PLANAR, Title: "Cafés", Description: "Of a town.",
	})
	if err != nil || !proto.Equal(made.GetCollection(), want) {
		t.Fatalf("made %v, %v", made, err)
	}

	// All kinds, in pages of any size.
	for _, size := range []uint32{0, 1, 2, 4, 9999} {
		var names, kinds []string
		req := &catfishv1.CollectionServiceListRequest{PageSize: size}
		for {
			l, err := c.colls.List(ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range l.GetCollections() {
				names = append(names, p.GetName())
				kinds = append(kinds, strings.TrimPrefix(p.GetKind().String(), "COLLECTION_KIND_"))
			}
			if req.PageToken = l.GetNextPageToken(); req.PageToken == "" {
				break
			}
		}
		if !slices.Equal(names, []string{"boxes", "cafés", "places", "plane"}) ||
			!slices.Equal(kinds, []string{"BOXES", "FEATURES", "FEATURES", "FEATURES"}) {
			t.Errorf("%d a page: %q, %q", size, names, kinds)
		}
	}

	boxes, err := c.colls.Describe(ctx, &catfishv1.CollectionServiceDescribeRequest{Name: "boxes"})
	if err != nil || boxes.GetCollection().GetKind() != catfishv1.CollectionKind_COLLECTION_KIND_BOXES || boxes.GetSample() != nil {
		t.Errorf("%v, %v", boxes, err)
	}
	if _, err := c.colls.Drop(ctx, &catfishv1.CollectionServiceDropRequest{Name: "cafés"}); err != nil {
		t.Error(err)
	}
	if _, err := c.colls.Describe(ctx, &catfishv1.CollectionServiceDescribeRequest{Name: "cafés"}); detailsOf(err).reason != ReasonNoCollection {
		t.Error(err)
	}
}

func TestDescribe(t *testing.T) {
	c := startFeatures(t, store.Options{})
	describe := func() *catfishv1.CollectionServiceDescribeResponse {
		t.Helper()
		return must[*catfishv1.CollectionServiceDescribeResponse](t)(c.colls.Describe(testContext(t),
			&catfishv1.CollectionServiceDescribeRequest{Name: "places"}))
	}
	if d := describe(); d.GetSample().GetMethod() != "all" || d.GetExtent() != nil || len(d.GetProperties()) != 0 {
		t.Errorf("empty: %v", d)
	}
	c.put(t, pbPoint("a", 1, 2, `{"name":"A","seats":3,"open":true,"tags":[],"wifi":{}}`))
	c.put(t, pbPoint("b", -1, 5, `{"name":null,"seats":"four"}`))
	c.put(t, &catfishv1.Feature{Id: "c"})
	d := describe()
	var got []string
	for _, p := range d.GetProperties() {
		s := fmt.Sprint(p.GetName(), " ", p.GetFeatures())
		for i, k := range p.GetTypes() {
			s += fmt.Sprint(" ", strings.TrimPrefix(k.String(), "PROPERTY_TYPE_"), " ", p.GetCounts()[i])
		}
		got = append(got, s)
	}
	if want := []string{"name 2 NULL 1 STRING 1", "open 1 BOOLEAN 1", "seats 2 NUMBER 1 STRING 1", "tags 1 ARRAY 1", "wifi 1 OBJECT 1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if d.GetSample().GetFeatures() != 3 || d.GetSample().GetMethod() != "all" || d.GetCollection().GetCount() != 3 ||
		!slices.Equal(d.GetGeometryTypes(), []string{"Point", "null"}) || !slices.Equal(d.GetGeometryCounts(), []uint64{2, 1}) ||
		d.GetMoreProperties() || d.GetCreated().AsTime().IsZero() || d.GetCreatedRevision() == 0 || d.GetRevision() < d.GetCreatedRevision()+3 {
		t.Errorf("%v", d)
	}
	if e := d.GetExtent(); e.GetWest() != -1 || e.GetSouth() != 2 || e.GetEast() != 1 || e.GetNorth() != 5 {
		t.Errorf("the extent is %v", e)
	}
	scatter(t, c, 2000)
	if d := describe(); d.GetSample().GetFeatures() != 2003 || d.GetSample().GetMethod() != "all" || d.GetCollection().GetCount() != 2003 {
		t.Errorf("counted %v", d.GetSample())
	}
}

func TestDeleteWhere(t *testing.T) {
	c := startFeatures(t, store.Options{})
	ctx := testContext(t)
	spots := scatter(t, c, 1500)
	east := ids(spots, func(s spot) bool { return s.x >= 0 })
	del := func(req *catfishv1.FeatureServiceDeleteWhereRequest, want int) {
		t.Helper()
		req.Collection = "places"
		if res, err := c.DeleteWhere(ctx, req); err != nil || int(res.GetDeleted()) != want {
			t.Fatalf("deleted %v, %v, want %d", res, err, want)
		}
	}
	q := &catfishv1.Query{Area: boxArea(0, -90, 180, 90)}
	del(&catfishv1.FeatureServiceDeleteWhereRequest{Query: q, Limit: 100}, 100)
	del(&catfishv1.FeatureServiceDeleteWhereRequest{Query: q}, len(east)-100)
	p, err := c.find(ctx, &catfishv1.FeatureServiceSearchRequest{})
	if err != nil || !slices.Equal(p.ids, ids(spots, func(s spot) bool { return s.x < 0 })) {
		t.Fatalf("%d are left, %v", len(p.ids), err)
	}
	del(&catfishv1.FeatureServiceDeleteWhereRequest{Everything: true}, len(spots)-len(east))
}

// Names are exchanged in one step; the error names the field that is wrong.
func TestSwap(t *testing.T) {
	c := startFeatures(t, store.Options{})
	ctx := testContext(t)
	c.put(t, pbPoint("a", 1, 2, `{"of":"places"}`))
	if _, err := c.colls.Create(ctx, &catfishv1.CollectionServiceCreateRequest{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.colls.Swap(ctx, &catfishv1.CollectionServiceSwapRequest{Name: "places", Other: "other"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]uint64{"places": 0, "other": 1} {
		d, err := c.colls.Describe(ctx, &catfishv1.CollectionServiceDescribeRequest{Name: name})
		if err != nil || d.GetCollection().GetCount() != want || d.GetCollection().GetName() != name {
			t.Errorf("%q: %v, %v", name, d, err)
		}
	}
	for _, x := range []struct{ a, b, reason, field string }{
		{"places", "none", ReasonNoCollection, ""},
		{"places", "boxes", ReasonKind, ""},
		{"places", "places", ReasonBadField, "other"},
		{"", "places", ReasonBadField, "name"},
		{"places", "", ReasonBadField, "other"},
	} {
		_, err := c.colls.Swap(ctx, &catfishv1.CollectionServiceSwapRequest{Name: x.a, Other: x.b})
		if d := detailsOf(err); d.reason != x.reason || d.field != x.field {
			t.Errorf("%q and %q: %v, %+v", x.a, x.b, err, d)
		}
	}
}
