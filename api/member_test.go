package api

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/paulmach/orb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/store"
)

// A primary that stood still answers no reads until it knows what it is; a secondary
// answers with what it has; and writes are the group's matter.
func TestReadsOfAMember(t *testing.T) {
	st, err := store.Open(t.Context(), store.Options{Dir: t.TempDir(), Replicated: true, StoreID: [16]byte{1}, SlabBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	g := catfishtest.NewGroupOfOne()
	st.Replicate(g)
	places, err := st.CreateFeatures("places", store.CollectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := places.Put(t.Context(), store.Feature{ID: "x", Geometry: orb.Point{1, 2}}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	c := withFeatures(startBufconn(t, trees{"boxes": treeOf(t)}.alone(), WithFeatures(st)), st)
	reads := map[string]func(context.Context) error{
		"get": func(ctx context.Context) error {
			_, err := c.FeatureServiceClient.Get(ctx, &catfishv1.FeatureServiceGetRequest{Collection: "places", Id: "x"})
			return err
		},
		"search": func(ctx context.Context) error {
			s, err := c.FeatureServiceClient.Search(ctx, &catfishv1.FeatureServiceSearchRequest{Collection: "places"})
			for err == nil {
				_, err = s.Recv()
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		},
		"boxes": func(ctx context.Context) error {
			_, err := c.client.Count(ctx, &catfishv1.CountRequest{Collection: "boxes", Query: &catfishv1.Rect{}})
			return err
		},
	}
	check := func(what string, want codes.Code) {
		t.Helper()
		for name, read := range reads {
			if err := read(t.Context()); status.Code(err) != want {
				t.Errorf("%s: %s: %v, want %v", what, name, err, want)
			}
		}
	}
	check("the primary", codes.OK)
	g.Grant(1, 0)
	check("a primary without a lease", codes.Unavailable)
	if _, err := c.FeatureServiceClient.Delete(t.Context(), &catfishv1.FeatureServiceDeleteRequest{Collection: "places", Id: "x"}); err != nil {
		t.Errorf("a write: %v", err)
	}
	g.Grant(1|replica.OfSecondary, 0)
	if _, _, err := places.Put(t.Context(), store.Feature{ID: "x", Geometry: orb.Point{1, 2}}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	check("a secondary", codes.OK)
}
