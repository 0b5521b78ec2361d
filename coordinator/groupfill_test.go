package coordinator

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/rstar"
)

// The primary of a group fills the collections that are kept, once they exist, and its secondaries get them
// from it.
func TestThePrimaryFillsWhatIsKept(t *testing.T) {
	t.Parallel()
	c := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	var fills atomic.Int32
	const boxes = 1000
	fill := func(_ context.Context, s *server.Server) error {
		fills.Add(1)
		kept, err := s.Kept("loaded")
		if err != nil {
			return err
		}
		items := make([]rstar.Item, boxes)
		for i := range items {
			items[i] = rstar.Item{Rect: catfishtest.Square(float64(i), 0), ID: uint64(i)}
		}
		return kept.Load(items)
	}
	for _, n := range []string{"n1", "n2"} {
		m := startHere(t, memberOf{Coordinator: c.Addr(), Node: n, Dir: filepath.Join(t.TempDir(), "data"),
			set: func(o *daemon.Options) { o.Fill, o.Server.Keep = fill, []string{"loaded"} }})
		catfishtest.Eventually(t, n+" has the boxes", func() bool {
			kept, err := m.daemon.Server().Kept("loaded")
			return err == nil && kept.Tree().Len() == boxes
		})
	}
	if n := fills.Load(); n != 1 {
		t.Errorf("filled %d times", n)
	}
}
