package api

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/catfish"
)

// A name that a server refuses is the request's fault, and told so.
func TestCreateBadName(t *testing.T) {
	srv, err := catfish.NewServer(catfish.ServerOptions{
		Listen: "127.0.0.1:0", Transports: []string{catfish.TransportSoft},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	if err := srv.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := startBufconn(t, ServerBackend(srv), WithFeatures(ServerFeatures(srv)))
	colls := catfishv1.NewCollectionServiceClient(c.conn)
	for _, name := range []string{"ca fes", "a/b", "..\n", strings.Repeat("x", 129), ""} {
		_, err := colls.Create(testContext(t), &catfishv1.CollectionServiceCreateRequest{Name: name})
		if d := detailsOf(err); d.code != codes.InvalidArgument || d.reason != ReasonBadField || d.field != "name" {
			t.Errorf("%q: %v", name, err)
		}
	}
}
