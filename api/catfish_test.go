package api

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/rstar"
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

// TestServerBackendLoading: a collection that is being loaded gives no answers.
func TestServerBackendLoading(t *testing.T) {
	srv, err := catfish.NewServer(catfish.ServerOptions{
		Listen: "127.0.0.1:0", Transports: []string{catfish.TransportSoft},
		Loading: []string{catfish.DefaultCollection},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	c := startBufconn(t, ServerBackend(srv))
	for call, err := range everyCall(testContext(t), c, catfish.DefaultCollection) {
		if d := detailsOf(err); d.code != codes.Unavailable || d.reason != ReasonLoading {
			t.Errorf("%s: %v: %+v", call, err, d)
		}
	}
	if err := srv.SetReady(catfish.DefaultCollection); err != nil {
		t.Fatal(err)
	}
	for call, err := range everyCall(testContext(t), c, catfish.DefaultCollection) {
		if err != nil {
			t.Errorf("%s, when it is ready: %v", call, err)
		}
	}
}

// TestDroppedDuringCall: no answer is empty because the collection was dropped after the
// call had found it.
func TestDroppedDuringCall(t *testing.T) {
	tree, err := rstar.New(rstar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tree.Close()
	for call, err := range everyCall(testContext(t), startBufconn(t, trees{"x": tree}.alone()), "x") {
		if d := detailsOf(err); call != "Stats" && (d.code != codes.Unavailable || d.reason != ReasonClosed) {
			t.Errorf("%s: %v: %+v", call, err, d)
		}
	}
}
