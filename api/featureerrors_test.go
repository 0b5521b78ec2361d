package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// TestFeatureErrors: bad input as users make it, each with its status, its
// reason and the field to correct.
func TestFeatureErrors(t *testing.T) {
	c := startFeatures(t, store.Options{})
	ctx := testContext(t)
	rev := c.put(t, pbPoint("there", 1, 2, `{"n":1}`))

	put := func(f *catfishv1.Feature) error {
		_, err := c.Put(ctx, &catfishv1.FeatureServicePutRequest{Collection: "places", Feature: f})
		return err
	}
	puts := func(change func(*catfishv1.FeatureServicePutRequest)) error {
		req := &catfishv1.FeatureServicePutRequest{Collection: "places", Feature: pbPoint("there", 1, 2, "")}
		change(req)
		_, err := c.Put(ctx, req)
		return err
	}
	shape := func(text string) error { return put(&catfishv1.Feature{Id: "x", Geometry: geojson(text)}) }
	search := func(change func(*catfishv1.FeatureServiceSearchRequest)) error {
		req := &catfishv1.FeatureServiceSearchRequest{Collection: "places", Query: &catfishv1.Query{}}
		change(req)
		_, err := c.find(ctx, req)
		return err
	}
	area := func(a *catfishv1.Area) error {
		return search(func(r *catfishv1.FeatureServiceSearchRequest) { r.Query.Area = a })
	}
	get := func(collection, id string) error {
		_, err := c.Get(ctx, &catfishv1.FeatureServiceGetRequest{Collection: collection, Id: id})
		return err
	}
	nearest := func(req *catfishv1.FeatureServiceNearestRequest) error {
		req.Collection = "places"
		_, err := all(c.FeatureServiceClient.Nearest(ctx, req))
		return err
	}
	create := func(req *catfishv1.CollectionServiceCreateRequest) error {
		_, err := c.colls.Create(ctx, req)
		return err
	}
	watch := watching(ctx, c)
	at := &catfishv1.Point{X: 1, Y: 2}
	tooFar, notFinite := -1.0, math.Inf(1)
	const bad, missing = codes.InvalidArgument, codes.NotFound

	for name, tc := range map[string]struct {
		err    error
		code   codes.Code
		reason string
		field  string
	}{
		"no collection":        {get("", "x"), bad, ReasonBadField, "collection"},
		"long name":            {get(strings.Repeat("x", 129), "x"), bad, ReasonBadField, "collection"},
		"unknown collection":   {get("none", "x"), missing, ReasonNoCollection, ""},
		"boxes":                {get("boxes", "x"), codes.FailedPrecondition, ReasonKind, ""},
		"unknown feature":      {get("places", "none"), missing, ReasonNoFeature, ""},
		"no id":                {get("places", ""), bad, ReasonBadField, "id"},
		"no feature":           {put(nil), bad, ReasonBadField, "feature"},
		"long id":              {put(pbPoint(strings.Repeat("i", 513), 1, 2, "")), bad, ReasonBadField, "feature.id"},
		"no GeoJSON":           {shape(`{"type":`), bad, ReasonBadGeoJSON, "feature.geojson"},
		"unknown type":         {shape(`{"type":"Blob","coordinates":[1,2]}`), bad, ReasonBadGeoJSON, "feature.geojson"},
		"latitude 95":          {shape(pointText(1, 95)), bad, ReasonBadCoordinate, "feature.geojson"},
		"crosses itself":       {shape(`{"type":"Polygon","coordinates":[[[0,0],[9,9],[9,0],[0,9],[0,0]]]}`), bad, ReasonBadGeometry, "feature.geojson"},
		"not closed":           {shape(`{"type":"Polygon","coordinates":[[[0,0],[9,9],[9,0],[0,9]]]}`), bad, ReasonBadGeometry, "feature.geojson"},
		"no WKB":               {put(&catfishv1.Feature{Geometry: &catfishv1.Feature_Wkb{Wkb: []byte{1, 9}}}), bad, ReasonBadGeoJSON, "feature.wkb"},
		"properties no object": {put(pbPoint("x", 1, 2, "[1]")), bad, ReasonBadProperties, "feature.properties"},
		"properties no JSON":   {put(pbPoint("x", 1, 2, `{"a":`)), bad, ReasonBadProperties, "feature.properties"},
		"expired in 1969":      {put(&catfishv1.Feature{Expires: &timestamppb.Timestamp{Seconds: -1}}), bad, ReasonBadField, "feature.expires"},
		"expires in 3000":      {put(&catfishv1.Feature{Expires: &timestamppb.Timestamp{Seconds: 32503680000}}), bad, ReasonBadField, "feature.expires"},
		"expires never valid":  {put(&catfishv1.Feature{Expires: &timestamppb.Timestamp{Nanos: -1}}), bad, ReasonBadField, "feature.expires"},
		"both conditions":      {puts(func(r *catfishv1.FeatureServicePutRequest) { r.IfAbsent, r.IfRevision = true, 1 }), bad, ReasonBadField, "if_absent"},
		"exists":               {puts(func(r *catfishv1.FeatureServicePutRequest) { r.IfAbsent = true }), codes.AlreadyExists, ReasonFeatureExists, ""},
		"another revision":     {puts(func(r *catfishv1.FeatureServicePutRequest) { r.IfRevision = rev + 1 }), codes.Aborted, ReasonConflict, ""},
		"empty area":           {area(&catfishv1.Area{}), bad, ReasonBadField, "query.area"},
		"box upside down":      {area(boxArea(0, 5, 1, 4)), bad, ReasonBadGeometry, "query.area"},
		"box of NaN":           {area(boxArea(0, math.NaN(), 1, 4)), bad, ReasonBadCoordinate, "query.area"},
		"negative circle":      {area(circleArea(0, 0, -5)), bad, ReasonBadCoordinate, "query.area"},
		"polygon no JSON":      {area(polygonArea("x")), bad, ReasonBadGeoJSON, "query.area.polygon"},
		"polygon is a point":   {area(polygonArea(pointText(1, 2))), bad, ReasonBadGeometry, "query.area"},
		"polygon crosses":      {area(polygonArea(`{"type":"Polygon","coordinates":[[[0,0],[9,9],[9,0],[0,9],[0,0]]]}`)), bad, ReasonBadGeometry, "query.area.polygon"},
		"unknown relation":     {search(func(r *catfishv1.FeatureServiceSearchRequest) { r.Query.Relation = 9 }), bad, ReasonBadField, "query.relation"},
		"unknown order":        {search(func(r *catfishv1.FeatureServiceSearchRequest) { r.Order = 9 }), bad, ReasonBadField, "order"},
		"unknown format":       {search(func(r *catfishv1.FeatureServiceSearchRequest) { r.Selection = &catfishv1.Selection{GeometryFormat: 9} }), bad, ReasonBadField, "selection.geometry_format"},
		"many fields": {search(func(r *catfishv1.FeatureServiceSearchRequest) {
			r.Selection = &catfishv1.Selection{Fields: make([]string, 257)}
		}), bad, ReasonBadField, "selection.fields"},
		"filter":                {search(func(r *catfishv1.FeatureServiceSearchRequest) { r.Query.Filter = "properties.n >" }), bad, ReasonBadFilter, "query.filter"},
		"token without order":   {search(func(r *catfishv1.FeatureServiceSearchRequest) { r.PageToken = "AAAA" }), bad, ReasonBadCursor, "page_token"},
		"token of nothing":      {search(func(r *catfishv1.FeatureServiceSearchRequest) { r.PageToken, r.Order = "AAAA", 1 }), bad, ReasonBadCursor, "page_token"},
		"token no base64":       {search(func(r *catfishv1.FeatureServiceSearchRequest) { r.PageToken, r.Order = "%", 1 }), bad, ReasonBadCursor, "page_token"},
		"distance without from": {search(func(r *catfishv1.FeatureServiceSearchRequest) { r.Order = 2 }), bad, ReasonBadField, "from"},
		"distance without area": {search(func(r *catfishv1.FeatureServiceSearchRequest) { r.Order, r.From = 2, at }), bad, ReasonBadField, "query.area"},
		"nearest to nowhere":    {nearest(&catfishv1.FeatureServiceNearestRequest{K: 1}), bad, ReasonBadField, "point"},
		"nearest to latitude":   {nearest(&catfishv1.FeatureServiceNearestRequest{K: 1, Point: &catfishv1.Point{Y: 91}}), bad, ReasonBadCoordinate, "point"},
		"nearest of none":       {nearest(&catfishv1.FeatureServiceNearestRequest{Point: at}), bad, ReasonBadField, "k"},
		"nearest of too many":   {nearest(&catfishv1.FeatureServiceNearestRequest{Point: at, K: 1<<16 + 1}), bad, ReasonBadField, "k"},
		"nearest too far":       {nearest(&catfishv1.FeatureServiceNearestRequest{Point: at, MaxDistance: &tooFar}), bad, ReasonBadField, "max_distance"},
		"nearest not finite":    {nearest(&catfishv1.FeatureServiceNearestRequest{Point: at, MaxDistance: &notFinite}), bad, ReasonBadField, "max_distance"},
		"nearest by a filter":   {nearest(&catfishv1.FeatureServiceNearestRequest{Point: at, K: 1, Filter: "1 +"}), bad, ReasonBadFilter, "filter"},
		"within by a filter":    {nearest(&catfishv1.FeatureServiceNearestRequest{Point: at, MaxDistance: proto.Float64(5), Filter: "1 +"}), bad, ReasonBadFilter, "filter"},
		"many ids":              {second(all(c.GetMany(ctx, &catfishv1.FeatureServiceGetManyRequest{Collection: "places", Ids: make([]string, MaxGet+1)}))), bad, ReasonBadField, "ids"},
		"an empty id":           {second(all(c.GetMany(ctx, &catfishv1.FeatureServiceGetManyRequest{Collection: "places", Ids: []string{"a", ""}}))), bad, ReasonBadField, "ids[1]"},
		"patch no JSON":         {second(c.Patch(ctx, &catfishv1.FeatureServicePatchRequest{Collection: "places", Id: "there", Properties: "x"})), bad, ReasonBadProperties, "properties"},
		"patch of nothing":      {second(c.Patch(ctx, &catfishv1.FeatureServicePatchRequest{Collection: "places", Id: "there"})), bad, ReasonBadProperties, "properties"},
		"patch none":            {second(c.Patch(ctx, &catfishv1.FeatureServicePatchRequest{Collection: "places", Id: "none", Properties: "{}"})), missing, ReasonNoFeature, ""},
		"patch another":         {second(c.Patch(ctx, &catfishv1.FeatureServicePatchRequest{Collection: "places", Id: "there", Properties: "{}", IfRevision: 1})), codes.Aborted, ReasonConflict, ""},
		"delete none":           {second(c.FeatureServiceClient.Delete(ctx, &catfishv1.FeatureServiceDeleteRequest{Collection: "places", Id: "none"})), missing, ReasonNoFeature, ""},
		"delete another":        {second(c.FeatureServiceClient.Delete(ctx, &catfishv1.FeatureServiceDeleteRequest{Collection: "places", Id: "there", IfRevision: 1})), codes.Aborted, ReasonConflict, ""},
		"delete all":            {second(c.DeleteWhere(ctx, &catfishv1.FeatureServiceDeleteWhereRequest{Collection: "places", Query: &catfishv1.Query{}})), bad, ReasonBadField, "query"},
		"create other options":  {create(&catfishv1.CollectionServiceCreateRequest{Name: "places", Title: "x"}), codes.AlreadyExists, ReasonExists, ""},
		"create over boxes":     {create(&catfishv1.CollectionServiceCreateRequest{Name: "boxes"}), codes.AlreadyExists, ReasonExists, ""},
		"create boxes":          {create(&catfishv1.CollectionServiceCreateRequest{Name: "b", Kind: 2}), bad, ReasonBadField, "kind"},
		"create in a space":     {create(&catfishv1.CollectionServiceCreateRequest{Name: "b", Space: 9}), bad, ReasonBadField, "space"},
		"create no name":        {create(&catfishv1.CollectionServiceCreateRequest{}), bad, ReasonBadField, "name"},
		"create a novel":        {create(&catfishv1.CollectionServiceCreateRequest{Name: "b", Description: strings.Repeat("x", MaxTextBytes+1)}), bad, ReasonBadField, "description"},
		"drop none":             {second(c.colls.Drop(ctx, &catfishv1.CollectionServiceDropRequest{Name: "none"})), missing, ReasonNoCollection, ""},
		"describe none":         {second(c.colls.Describe(ctx, &catfishv1.CollectionServiceDescribeRequest{Name: "none"})), missing, ReasonNoCollection, ""},
		"list from nowhere":     {second(c.colls.List(ctx, &catfishv1.CollectionServiceListRequest{PageToken: "%"})), bad, ReasonBadCursor, "page_token"},
		"watch no collection":   {watch(&catfishv1.FeatureServiceWatchRequest{}), bad, ReasonBadField, "collection"},
		"watch nowhere":         {watch(&catfishv1.FeatureServiceWatchRequest{Collection: "none"}), missing, ReasonNoCollection, ""},
		"watch by a filter":     {watch(&catfishv1.FeatureServiceWatchRequest{Collection: "places", Query: &catfishv1.Query{Filter: "1 +"}}), bad, ReasonBadFilter, "query.filter"},
		"watch a bad area": {watch(&catfishv1.FeatureServiceWatchRequest{Collection: "places", Areas: []*catfishv1.WatchedArea{
			{}, {Name: "x", Query: &catfishv1.Query{Area: boxArea(0, 5, 1, 4)}},
		}}), bad, ReasonBadGeometry, "areas[1].query.area"},
		"watch an area twice": {watch(&catfishv1.FeatureServiceWatchRequest{Collection: "places", Areas: []*catfishv1.WatchedArea{{}, {}}}), bad, ReasonBadField, "areas[1].name"},
		"watch areas and a query": {watch(&catfishv1.FeatureServiceWatchRequest{
			Collection: "places", Query: &catfishv1.Query{}, Areas: []*catfishv1.WatchedArea{{}},
		}), bad, ReasonBadField, "query"},
		"watch too many areas":   {watch(&catfishv1.FeatureServiceWatchRequest{Collection: "places", Areas: make([]*catfishv1.WatchedArea, MaxWatchAreas+1)}), bad, ReasonBadField, "areas"},
		"watch an unknown part":  {watch(&catfishv1.FeatureServiceWatchRequest{Collection: "places", Selection: &catfishv1.Selection{GeometryFormat: 9}}), bad, ReasonBadField, "selection.geometry_format"},
		"watch before the log":   {watch(&catfishv1.FeatureServiceWatchRequest{Collection: "places", AfterRevision: 1}), codes.OutOfRange, ReasonNotKept, ""},
		"watch ahead of the log": {watch(&catfishv1.FeatureServiceWatchRequest{Collection: "places", AfterRevision: 1 << 62}), codes.OutOfRange, ReasonAhead, ""},
		"watch another history":  {watch(&catfishv1.FeatureServiceWatchRequest{Collection: "places", AfterRevision: rev, History: 7}), codes.OutOfRange, ReasonAhead, ""},
	} {
		d := detailsOf(tc.err)
		if d.code != tc.code || d.reason != tc.reason || d.field != tc.field {
			t.Errorf("%s: %v\ngot %v %q %q, want %v %q %q", name, tc.err, d.code, d.reason, d.field, tc.code, tc.reason, tc.field)
		}
	}
	// No bad request has changed anything.
	if n := must[*catfishv1.FeatureServiceCountResponse](t)(c.FeatureServiceClient.Count(ctx, &catfishv1.FeatureServiceCountRequest{Collection: "places"})); n.GetCount() != 1 {
		t.Errorf("%d features", n.GetCount())
	}
	if got := c.get(t, "there"); got.GetRevision() != rev {
		t.Errorf("the feature is now %v", got)
	}
}

// watching returns the error that ends a watch.
func watching(ctx context.Context, c featureClient) func(*catfishv1.FeatureServiceWatchRequest) error {
	return func(req *catfishv1.FeatureServiceWatchRequest) error {
		return second(all2(c.Watch(ctx, req)))
	}
}

func second[T any](_ T, err error) error { return err }

// all2 reads a whole stream.
func all2[T any](stream grpc.ServerStreamingClient[T], err error) ([]*T, error) {
	var ms []*T
	for err == nil {
		var m *T
		if m, err = stream.Recv(); err == nil {
			ms = append(ms, m)
		}
	}
	return ms, err
}

// TestErrorDetails checks what a client acts on besides code and field.
func TestErrorDetails(t *testing.T) {
	c := startFeatures(t, store.Options{})
	ctx := testContext(t)
	_, err := c.find(ctx, &catfishv1.FeatureServiceSearchRequest{Query: &catfishv1.Query{Filter: "properties.n > 3 &&\n  properties.m >> 4"}})
	d := detailsOf(err)
	if d.meta[MetadataLine] != "2" || d.meta[MetadataColumn] == "" || d.meta[MetadataCollection] != "places" {
		t.Errorf("filter: %v: %v", err, d.meta)
	}
	_, err = c.Get(ctx, &catfishv1.FeatureServiceGetRequest{Collection: "places", Id: "none"})
	var r *errdetails.ResourceInfo
	for _, m := range status.Convert(err).Details() {
		if m, ok := m.(*errdetails.ResourceInfo); ok {
			r = m
		}
	}
	if r.GetResourceType() != "feature" || r.GetResourceName() != "none" || detailsOf(err).meta[MetadataID] != "none" {
		t.Errorf("not found: %v: %v", err, r)
	}
	// Long texts of the caller do not come back whole.
	_, err = c.find(ctx, &catfishv1.FeatureServiceSearchRequest{Query: &catfishv1.Query{Filter: strings.Repeat("ü", 2000) + "("}})
	if n := proto.Size(status.Convert(err).Proto()); n > 4<<10 || detailsOf(err).reason != ReasonBadFilter {
		t.Errorf("a status of %d bytes, %v", n, err)
	}
}

// TestStoreErrors: the errors of a store, as clients receive them.
func TestStoreErrors(t *testing.T) {
	for _, tc := range []struct {
		err    error
		code   codes.Code
		reason string
		retry  bool
	}{
		{disk.ErrReadOnly, codes.Unavailable, ReasonReadOnly, true},
		{fault.ErrNotPrimary, codes.Unavailable, ReasonNotPrimary, true},
		{fault.ErrMoved, codes.Unavailable, ReasonMoved, true},
		{fault.ErrSeveralGroups, codes.Unimplemented, ReasonSeveralGroups, false},
		{fault.ErrTooFewInSync, codes.Unavailable, ReasonTooFewInSync, true},
		{fault.ErrUnknownOutcome, codes.Unknown, ReasonUnknownOutcome, false},
		{store.ErrPaused, codes.Unavailable, ReasonPaused, true},
		{store.ErrClosed, codes.Unavailable, ReasonClosed, true},
		{kv.ErrClosed, codes.Unavailable, ReasonClosed, true},
		{disk.ErrClosed, codes.Unavailable, ReasonClosed, true},
		{record.ErrFull, codes.ResourceExhausted, ReasonSlabFull, false},
		{cuckoo.ErrFull, codes.ResourceExhausted, ReasonSlabFull, false},
		{cuckoo.ErrTooManyAlike, codes.ResourceExhausted, ReasonSlabFull, false},
		{record.ErrTooLarge, codes.InvalidArgument, ReasonFeatureTooLarge, false},
		{filter.ErrCost, codes.ResourceExhausted, ReasonFilterCost, false},
		{store.ErrUnknownCollection, codes.NotFound, ReasonNoCollection, false},
		{store.ErrCorrupt, codes.Internal, ReasonInternal, false},
		{errors.New("something else"), codes.Internal, ReasonInternal, false},
	} {
		d := detailsOf(failed(t.Context(), "places", fmt.Errorf("wrapped: %w", tc.err)))
		if d.code != tc.code || d.reason != tc.reason || d.retry != tc.retry || d.meta[MetadataCollection] != "places" {
			t.Errorf("%v: %+v", tc.err, d)
		}
	}
}

// TestFeatureDeadline: a call whose deadline has passed does nothing, and says so.
func TestFeatureDeadline(t *testing.T) {
	st := openStore(t, store.Options{})
	s := &featureService{features: &features{boxes: trees{}.alone(), options: newOptions(nil)}}
	s.store.Store(st)
	ctx, cancel := context.WithTimeout(t.Context(), -1)
	defer cancel()
	_, err := s.Put(ctx, &catfishv1.FeatureServicePutRequest{Collection: "places", Feature: &catfishv1.Feature{}})
	if status.Code(err) != codes.DeadlineExceeded {
		t.Error(err)
	}
	if c, err := st.Collection("places"); err != nil || c.Len() != 0 {
		t.Errorf("stored %d, %v", c.Len(), err)
	}
}
