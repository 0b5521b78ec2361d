package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"google.golang.org/grpc"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/store"
)

// featureClient is a connection to a server with its own store.
type featureClient struct {
	client
	catfishv1.FeatureServiceClient
	colls catfishv1.CollectionServiceClient
	store *store.Store
}

// startFeatures serves a store, with the collections "places" and, planar,
// "plane", over an in-memory connection until the test ends.
func startFeatures(t testing.TB, so store.Options, opts ...Option) featureClient {
	t.Helper()
	return startFeaturesOver(t, startBufconn, so, opts...)
}

func startFeaturesOver(t testing.TB, start func(testing.TB, Backend, ...Option) client,
	so store.Options, opts ...Option,
) featureClient {
	t.Helper()
	st := openStore(t, so)
	c := start(t, trees{"boxes": treeOf(t)}.alone(), append(opts, WithFeatures(st))...)
	return withFeatures(c, st)
}

func withFeatures(c client, st *store.Store) featureClient {
	return featureClient{
		client: c, FeatureServiceClient: catfishv1.NewFeatureServiceClient(c.conn),
		colls: catfishv1.NewCollectionServiceClient(c.conn), store: st,
	}
}

// storeOf is the store of a server that is ready.
func storeOf(t testing.TB, srv *catfish.Server) *store.Store {
	t.Helper()
	st, err := srv.Store()
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func openStore(t testing.TB, so store.Options) *store.Store {
	t.Helper()
	if so.SlabBytes == 0 {
		so.SlabBytes = 1 << 30
	}
	st, err := store.Open(context.Background(), so)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, space := range map[string]store.CollectionOptions{"places": {}, "plane": {Space: 1}} {
		if _, err := st.CreateFeatures(name, space); err != nil {
			t.Fatal(err)
		}
	}
	return st
}

// must returns the answer of a call that must succeed.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func geojson(text string) *catfishv1.Feature_Geojson {
	return &catfishv1.Feature_Geojson{Geojson: text}
}

func pointText(x, y float64) string {
	return fmt.Sprintf(`{"type":"Point","coordinates":[%v,%v]}`, x, y)
}

func pbPoint(id string, x, y float64, properties string) *catfishv1.Feature {
	return &catfishv1.Feature{Id: id, Geometry: geojson(pointText(x, y)), Properties: properties}
}

// put stores a feature of "places", and returns its revision.
func (c featureClient) put(t testing.TB, f *catfishv1.Feature) uint64 {
	t.Helper()
	res, err := c.Put(testContext(t), &catfishv1.FeatureServicePutRequest{Collection: "places", Feature: f})
	if err != nil {
		t.Fatal(err)
	}
	return res.GetRevision()
}

// page is the answer of a Search.
type page struct {
	features []*catfishv1.Feature
	ids      []string
	batches  int
	more     bool
	token    string
}

func (c featureClient) find(ctx context.Context, req *catfishv1.FeatureServiceSearchRequest) (p page, err error) {
	if req.Collection == "" {
		req.Collection = "places"
	}
	stream, err := c.FeatureServiceClient.Search(ctx, req)
	if err != nil {
		return p, err
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return p, nil
		}
		if err != nil {
			return p, err
		}
		if n := len(m.GetFeatures()); n == 0 || n > BatchItems || p.more {
			return p, fmt.Errorf("a batch of %d features, after the last: %v", n, p.more)
		}
		p.batches++
		p.more, p.token = m.GetMore(), m.GetNextPageToken()
		p.features = append(p.features, m.GetFeatures()...)
		for _, f := range m.GetFeatures() {
			p.ids = append(p.ids, f.GetId())
		}
	}
}

// all reads a whole stream of features.
func all[T any, P interface {
	*T
	GetFeatures() []*catfishv1.Feature
}](stream grpc.ServerStreamingClient[T], err error) ([]*catfishv1.Feature, error) {
	if err != nil {
		return nil, err
	}
	var fs []*catfishv1.Feature
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return fs, nil
		}
		if err != nil {
			return fs, err
		}
		fs = append(fs, P(m).GetFeatures()...)
	}
}

func (c featureClient) loadFeatures(ctx context.Context, reqs ...*catfishv1.FeatureServiceLoadRequest) (*catfishv1.FeatureServiceLoadResponse, error) {
	stream, err := c.FeatureServiceClient.Load(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range reqs {
		if stream.Send(m) != nil { // The server has answered already.
			break
		}
	}
	return stream.CloseAndRecv()
}

func boxArea(w, s, e, n float64) *catfishv1.Area {
	return &catfishv1.Area{Shape: &catfishv1.Area_Box{Box: &catfishv1.Box{West: w, South: s, East: e, North: n}}}
}

func circleArea(x, y, r float64) *catfishv1.Area {
	return &catfishv1.Area{Shape: &catfishv1.Area_Circle{Circle: &catfishv1.Circle{X: x, Y: y, Radius: r}}}
}

func polygonArea(text string) *catfishv1.Area {
	return &catfishv1.Area{Shape: &catfishv1.Area_Polygon{Polygon: text}}
}
