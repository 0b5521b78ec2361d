package api

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/store"
)

// featureSink is a stream that unmarshals each message sent.
type featureSink[T any, P interface {
	*T
	proto.Message
}] struct {
	t   testing.TB
	ctx context.Context
}

func (s featureSink[T, P]) Context() context.Context     { return s.ctx }
func (s featureSink[T, P]) SetHeader(metadata.MD) error  { return nil }
func (s featureSink[T, P]) SendHeader(metadata.MD) error { return nil }
func (s featureSink[T, P]) SetTrailer(metadata.MD)       {}
func (s featureSink[T, P]) RecvMsg(any) error            { return nil }
func (s featureSink[T, P]) Send(*T) error                { return nil }

func (s featureSink[T, P]) SendMsg(m any) error {
	if err := proto.Unmarshal(m.(*wire).b, P(new(T))); err != nil {
		s.t.Fatalf("sent what is no message: %v", err)
	}
	return nil
}

var _ grpc.ServerStreamingServer[catfishv1.FeatureServiceSearchResponse] = featureSink[catfishv1.FeatureServiceSearchResponse, *catfishv1.FeatureServiceSearchResponse]{}

func fuzzService(f *testing.F) *featureService {
	st := openStore(f, store.Options{})
	s := &featureService{features: &features{boxes: trees{}.alone(), options: newOptions(nil)}}
	s.store.Store(st)
	return s
}

func seed(f *testing.F, ms ...proto.Message) {
	for _, m := range ms {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

// FuzzPutFeature passes the handler any message that decodes. The handler
// returns what it stored, in a form that it would accept again.
func FuzzPutFeature(f *testing.F) {
	s := fuzzService(f)
	seed(f, &catfishv1.FeatureServicePutRequest{},
		&catfishv1.FeatureServicePutRequest{Collection: "places", Feature: pbPoint("a", 1, 2, `{"a":[1]}`)},
		&catfishv1.FeatureServicePutRequest{Collection: "plane", Feature: &catfishv1.Feature{
			Geometry: &catfishv1.Feature_Wkb{Wkb: []byte{1, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}},
		}})
	f.Fuzz(func(t *testing.T, b []byte) {
		var req catfishv1.FeatureServicePutRequest
		if proto.Unmarshal(b, &req) != nil {
			return
		}
		res, err := s.Put(t.Context(), &req)
		switch status.Code(err) {
		case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.Aborted:
			return
		case codes.OK:
		default:
			t.Fatal(err)
		}
		if e := req.GetFeature().GetExpires(); e != nil {
			return // The feature may have expired.
		}
		got, err := s.Get(t.Context(), &catfishv1.FeatureServiceGetRequest{Collection: req.GetCollection(), Id: res.GetId()})
		if err != nil || got.GetFeature().GetRevision() != res.GetRevision() {
			t.Fatalf("stored as %v, got %v, %v", res, got, err)
		}
		if _, err := s.Put(t.Context(), &catfishv1.FeatureServicePutRequest{Collection: req.GetCollection(), Feature: got.GetFeature()}); err != nil {
			t.Fatalf("what was given is not taken: %v: %v", got, err)
		}
	})
}

// FuzzSearchFeatures passes the handler any message that decodes.
func FuzzSearchFeatures(f *testing.F) {
	s := fuzzService(f)
	for i := range 300 {
		if _, err := s.Put(f.Context(), &catfishv1.FeatureServicePutRequest{
			Collection: "places", Feature: pbPoint("", float64(i), float64(i%90), `{"a":1}`),
		}); err != nil {
			f.Fatal(err)
		}
	}
	token := (&cursor{query: 1, id: "x"}).token()
	seed(f, &catfishv1.FeatureServiceSearchRequest{Collection: "places"},
		&catfishv1.FeatureServiceSearchRequest{Collection: "places", Query: &catfishv1.Query{Area: boxArea(170, 0, -170, 9), Filter: "properties.a == 1"}, Order: 1, Limit: 3, PageToken: token},
		&catfishv1.FeatureServiceSearchRequest{Collection: "places", Query: &catfishv1.Query{Area: circleArea(1, 2, 3)}, Order: 2, Limit: 3},
		&catfishv1.FeatureServiceSearchRequest{Collection: "plane", Query: &catfishv1.Query{Area: polygonArea(`{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,0]]]}`)}})
	f.Fuzz(func(t *testing.T, b []byte) {
		var req catfishv1.FeatureServiceSearchRequest
		if proto.Unmarshal(b, &req) != nil {
			return
		}
		err := s.Search(&req, featureSink[catfishv1.FeatureServiceSearchResponse, *catfishv1.FeatureServiceSearchResponse]{t, t.Context()})
		switch status.Code(err) {
		case codes.OK, codes.InvalidArgument, codes.NotFound, codes.ResourceExhausted: // a filter's cost
		default:
			t.Fatal(err)
		}
	})
}

// FuzzPageToken: any token is refused, or says where a page begins.
func FuzzPageToken(f *testing.F) {
	req := &catfishv1.FeatureServiceSearchRequest{Collection: "places", Order: 1}
	good := cursor{query: queryHash(req), id: "an id"}
	f.Add(good.token())
	f.Add("")
	f.Fuzz(func(t *testing.T, token string) {
		c, err := cursorOf(&catfishv1.FeatureServiceSearchRequest{Collection: "places", Order: 1, PageToken: token})
		if err == nil && token != "" && (c.query != good.query || c.id == "" || c.distance < 0) {
			t.Fatalf("%q is taken for %+v", token, c)
		}
	})
}
