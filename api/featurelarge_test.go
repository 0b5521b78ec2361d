package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
)

// Features of other clients may be larger than gRPC libraries accept by default, as
// docs/api.md says. With a higher limit they arrive, by Get and by Search.
func TestLargeFeature(t *testing.T) {
	c := startFeatures(t, store.Options{})
	ctx := testContext(t)
	places, err := c.store.Collection("places")
	if err != nil {
		t.Fatal(err)
	}
	const size = 5 << 20
	f := store.Feature{ID: "large", Geometry: orb.Point{1, 2}, Properties: fmt.Appendf(nil, `{"text":"%s"}`, strings.Repeat("x", size))}
	if _, _, err := places.Put(ctx, f, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	get := func(o ...grpc.CallOption) (int, error) {
		res, err := c.Get(ctx, &catfishv1.FeatureServiceGetRequest{Collection: "places", Id: "large"}, o...)
		return len(res.GetFeature().GetProperties()), err
	}
	if _, err := get(); detailsOf(err).code != codes.ResourceExhausted || detailsOf(err).reason != "" {
		t.Errorf("with the client's own limit: %v", err)
	}
	more := grpc.MaxCallRecvMsgSize(size + 64<<10)
	if n, err := get(more); err != nil || n < size {
		t.Errorf("get: %d bytes, %v", n, err)
	}
	stream, err := c.FeatureServiceClient.Search(ctx, &catfishv1.FeatureServiceSearchRequest{Collection: "places"}, more)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := stream.Recv(); err != nil || len(res.GetFeatures()) != 1 || len(res.GetFeatures()[0].GetProperties()) < size {
		t.Errorf("search: %d features, %v", len(res.GetFeatures()), err)
	}
}
