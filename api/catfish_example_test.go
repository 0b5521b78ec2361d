package api_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/catfish-index/catfish/api"
	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/rstar"
)

// One process serves a collection to RDMA clients and to gRPC clients.
func ExampleServerBackend() {
	srv, err := catfish.NewServer(catfish.ServerOptions{
		Listen: "127.0.0.1:0", Transports: []string{catfish.TransportSoft},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	go srv.Serve(context.Background())

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	g := api.NewServer(api.ServerBackend(srv))
	defer g.Stop() // before srv is closed
	go g.Serve(l)

	// The process itself, or an RDMA client, stores an object ...
	tree, err := srv.Collection(catfish.DefaultCollection)
	if err != nil {
		log.Fatal(err)
	}
	if err := tree.Insert(rstar.Rect{MinX: 1, MinY: 1, MaxX: 2, MaxY: 2}, 7); err != nil {
		log.Fatal(err)
	}

	// ... and a gRPC client finds it.
	conn, err := grpc.NewClient(l.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	found, err := catfishv1.NewCatfishServiceClient(conn).Count(context.Background(),
		&catfishv1.CountRequest{Query: &catfishv1.Rect{MaxX: 5, MaxY: 5}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.GetCount(), "object")
	// Output: 1 object
}
