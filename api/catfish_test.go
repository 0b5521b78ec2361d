package api

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/catfish-index/catfish/catfish"
)

// TestServerBackend: calls reach a catfish.Server's collections, and an
// unknown one is NOT_FOUND.
func TestServerBackend(t *testing.T) {
	srv, err := catfish.NewServer(catfish.ServerOptions{
		Listen: "127.0.0.1:0", Transports: []string{catfish.TransportSoft},
		Collections: []string{"roads"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	c := startBufconn(t, ServerBackend(srv))
	for call, err := range everyCall(testContext(t), c, "roads") {
		if err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
	for call, err := range everyCall(testContext(t), c, "rivers") {
		if d := detailsOf(err); d.code != codes.NotFound || d.reason != ReasonNoCollection {
			t.Errorf("%s: %v: %+v", call, err, d)
		}
	}
	if _, err := ServerBackend(srv).Collection("rivers"); !errors.Is(err, ErrNoCollection) ||
		!errors.Is(err, catfish.ErrUnknownCollection) {
		t.Errorf("%v", err)
	}
}
