package api

import (
	"regexp"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/store"
)

// get returns the feature of "places" with this id.
func (c featureClient) get(t testing.TB, id string) *catfishv1.Feature {
	t.Helper()
	return must[*catfishv1.FeatureServiceGetResponse](t)(c.Get(testContext(t), &catfishv1.FeatureServiceGetRequest{
		Collection: "places", Id: id,
	})).GetFeature()
}

func TestWrites(t *testing.T) {
	c := startFeatures(t, store.Options{})
	ctx := testContext(t)
	expires := timestamppb.New(time.Now().Add(time.Hour).Truncate(time.Microsecond))
	cafe := pbPoint("cafe", 13.5, 52.25, ` { "name" : "Größe", "seats": 20, "wifi": {"free":true,"band":5} } `)
	cafe.Expires = expires
	rev := c.put(t, cafe)
	want := pbPoint("cafe", 13.5, 52.25, `{"name":"Größe","seats":20,"wifi":{"free":true,"band":5}}`)
	want.Expires, want.Revision = expires, rev
	if got := c.get(t, "cafe"); !proto.Equal(got, want) {
		t.Fatalf("got %v\nwant %v", got, want)
	}

	patched := must[*catfishv1.FeatureServicePatchResponse](t)(c.Patch(ctx, &catfishv1.FeatureServicePatchRequest{
		Collection: "places", Id: "cafe", Properties: `{"seats":21,"wifi":{"band":null},"name":null}`, IfRevision: rev,
	}))
	if patched.GetRevision() <= rev {
		t.Fatalf("patched as %d, stored as %d", patched.GetRevision(), rev)
	}
	want.Properties, want.Revision = `{"seats":21,"wifi":{"free":true}}`, patched.GetRevision()
	if got := c.get(t, "cafe"); !proto.Equal(got, want) {
		t.Fatalf("patched: got %v\nwant %v", got, want)
	}

	// The server generates the id; no geometry, no properties.
	res := must[*catfishv1.FeatureServicePutResponse](t)(c.Put(ctx, &catfishv1.FeatureServicePutRequest{
		Collection: "places", Feature: &catfishv1.Feature{}, IfAbsent: true,
	}))
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(res.GetId()) {
		t.Errorf("made the id %q", res.GetId())
	}
	if got := c.get(t, res.GetId()); !proto.Equal(got, &catfishv1.Feature{Id: res.GetId(), Revision: res.GetRevision()}) {
		t.Errorf("stored nothing, got %v", got)
	}

	// Conditions that hold.
	must[*catfishv1.FeatureServicePutResponse](t)(c.Put(ctx, &catfishv1.FeatureServicePutRequest{
		Collection: "places", Feature: pbPoint("cafe", 1, 2, ""), IfRevision: patched.GetRevision(),
	}))
	now := c.get(t, "cafe")
	if now.GetProperties() != "" || now.GetExpires() != nil || now.GetGeojson() != pointText(1, 2) {
		t.Errorf("put in its place, got %v", now)
	}
	must[*catfishv1.FeatureServiceDeleteResponse](t)(c.FeatureServiceClient.Delete(ctx, &catfishv1.FeatureServiceDeleteRequest{
		Collection: "places", Id: "cafe", IfRevision: now.GetRevision(),
	}))
	if n := must[*catfishv1.FeatureServiceCountResponse](t)(c.FeatureServiceClient.Count(ctx, &catfishv1.FeatureServiceCountRequest{
		Collection: "places",
	})).GetCount(); n != 1 {
		t.Errorf("%d features, want 1", n)
	}
}

// Altitudes are in GeoJSON, in and out, and stay when properties are patched.
// WKB has two dimensions.
func TestAltitudes(t *testing.T) {
	c := startFeatures(t, store.Options{})
	const line = `{"type":"LineString","coordinates":[[1,2,3],[4,5],[6,7,-8]]}`
	rev := c.put(t, &catfishv1.Feature{Id: "x", Geometry: &catfishv1.Feature_Geojson{Geojson: line}})
	must[*catfishv1.FeatureServicePatchResponse](t)(c.Patch(testContext(t), &catfishv1.FeatureServicePatchRequest{
		Collection: "places", Id: "x", Properties: `{"a":1}`, IfRevision: rev,
	}))
	found, err := all(c.FeatureServiceClient.Search(testContext(t), &catfishv1.FeatureServiceSearchRequest{Collection: "places"}))
	if err != nil || len(found) != 1 || found[0].GetGeojson() != line || c.get(t, "x").GetGeojson() != line {
		t.Errorf("%v, %v, want %s", found, err, line)
	}
	found, err = all(c.FeatureServiceClient.Search(testContext(t), &catfishv1.FeatureServiceSearchRequest{
		Collection: "places", Selection: &catfishv1.Selection{GeometryFormat: catfishv1.GeometryFormat_GEOMETRY_FORMAT_WKB},
	}))
	if err != nil || len(found) != 1 || len(found[0].GetWkb()) != 1+4+4+3*16 {
		t.Errorf("%v, %v, want 57 bytes of WKB", found, err)
	}
}
