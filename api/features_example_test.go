package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/catfish-index/catfish/api"
	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/store"
)

// A program serves features from its own store, and a client asks for the cafés
// around a point.
func ExampleWithFeatures() {
	ctx := context.Background()
	st, err := store.Open(ctx, store.Options{}) // with Dir they are kept
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()
	srv, err := catfish.NewServer(catfish.ServerOptions{
		Listen: "127.0.0.1:0", Transports: []string{catfish.TransportSoft},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	g := api.NewServer(api.ServerBackend(srv), api.WithFeatures(st))
	defer g.Stop() // before the store is closed
	go g.Serve(l)

	conn, err := grpc.NewClient(l.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	_, err = catfishv1.NewCollectionServiceClient(conn).Create(ctx,
		&catfishv1.CollectionServiceCreateRequest{Name: "cafes"})
	if err != nil {
		log.Fatal(err)
	}
	features := catfishv1.NewFeatureServiceClient(conn)
	for name, lon := range map[string]float64{"Einstein": 13.36, "Sybille": 13.44} {
		_, err := features.Put(ctx, &catfishv1.FeatureServicePutRequest{
			Collection: "cafes", Feature: &catfishv1.Feature{
				Id: name, Properties: `{"open":true}`,
				Geometry: &catfishv1.Feature_Geojson{
					Geojson: fmt.Sprintf(`{"type":"Point","coordinates":[%v,52.5]}`, lon),
				},
			},
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	answer, err := features.Nearest(ctx, &catfishv1.FeatureServiceNearestRequest{
		Collection: "cafes", Point: &catfishv1.Point{X: 13.37, Y: 52.5}, K: 10,
		Filter: "properties.open",
	})
	if err != nil {
		log.Fatal(err)
	}
	for {
		m, err := answer.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		for _, f := range m.GetFeatures() {
			fmt.Printf("%s: %.0f m\n", f.GetId(), f.GetDistance())
		}
	}
	// Output:
	// Einstein: 677 m
	// Sybille: 4738 m
}
