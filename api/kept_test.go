package api

import (
	"log/slog"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/rstar"
)

// TestBoxesSurviveRestart: what gRPC writes to durable boxes exists after a
// restart, for each call that writes.
func TestBoxesSurviveRestart(t *testing.T) {
	o := catfish.ServerOptions{
		Transports: []string{catfish.TransportSoft}, DataDir: t.TempDir(), SlabBytes: 16 << 20,
		Keep: []string{"roads", "rivers"}, Logger: slog.New(slog.DiscardHandler),
	}
	serve := func() (client, *catfish.Server) {
		srv, err := catfish.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { srv.Close() })
		if err := srv.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		return startBufconn(t, ServerBackend(srv)), srv
	}
	c, srv := serve()
	ctx := testContext(t)
	for call, err := range everyCall(ctx, c, "roads") {
		if err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
	// everyCall inserted an object, which its update left, deleted it, and loaded one.
	want := []rstar.Item{{Rect: rstar.Rect{MaxX: 1, MaxY: 1}, ID: 1}}
	var more []rstar.Item
	for i := range 2*BatchItems + 3 {
		more = append(more, rstar.Item{Rect: rstar.Rect{MinX: float64(i), MaxX: float64(i)}, ID: uint64(i + 10)})
	}
	r, err := c.load(ctx, "roads", more, 100)
	if err != nil || r.GetBulk() || r.GetLoaded() != uint64(len(more)) {
		t.Fatal(r, err)
	}
	want = append(want, more...)
	if r, err = c.load(ctx, "rivers", more, 100); err != nil || !r.GetBulk() {
		t.Fatal(r, err)
	}
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	again, srv := serve()
	for name, want := range map[string][]rstar.Item{"roads": want, "rivers": more} {
		got, err := again.search(ctx, &catfishv1.SearchRequest{Collection: name, Query: pbRect(rstar.Rect{MaxX: 1e9, MaxY: 1e9})})
		sortByID(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %d boxes, %v, want %d", name, len(got), err, len(want))
		}
	}
	if ok, err := srv.DropCollection("rivers"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for call, err := range everyCall(ctx, again, "rivers") {
		if d := detailsOf(err); d.code != codes.NotFound || d.reason != ReasonNoCollection {
			t.Errorf("%s: %v: %+v", call, err, d)
		}
	}
}
