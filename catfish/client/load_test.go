package client

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

func many(n int) []rstar.Item {
	items := make([]rstar.Item, n)
	for i := range items {
		items[i] = rstar.Item{Rect: square(float64(i%100), float64(i/100)), ID: uint64(i)}
	}
	return items
}

// TestLoad: all objects arrive, and progress counts up to all of them.
func TestLoad(t *testing.T) {
	s := startServer(t, server.Options{})
	for _, p := range []path{{transport: model.TransportTCP, policy: "tcp"}, {transport: model.TransportSHM}, {transport: model.TransportSoft}} {
		c := dial(t, s, p.options())
		for _, size := range []int{0, 1, wire.MaxBatch, wire.MaxBatch + 1, 20*wire.MaxBatch + 7} {
			before := tree(t, s).Len()
			var told []int
			n, err := c.Load(t.Context(), slices.Values(many(size)), func(n int) { told = append(told, n) })
			if n != size || err != nil || tree(t, s).Len() != before+size {
				t.Fatalf("%s: %d of %d loaded, %v; the tree has %d more", p.transport, n, size, err, tree(t, s).Len()-before)
			}
			if !slices.IsSorted(told) || size > 0 && told[len(told)-1] != size {
				t.Errorf("%s: progress %v of %d", p.transport, told, size)
			}
		}
	}
}

// TestLoadFails: the objects that a failed load reports as stored are stored, and it
// reads no further.
func TestLoadFails(t *testing.T) {
	s := startServer(t, server.Options{SlabBytes: 1 << 20})
	c := dial(t, s, Options{})
	items := many(100 * wire.MaxBatch)
	read := 0
	n, err := c.Load(t.Context(), func(yield func(rstar.Item) bool) {
		for _, it := range items {
			if read++; !yield(it) {
				return
			}
		}
	}, nil)
	have := tree(t, s).Len()
	if !errors.Is(err, rstar.ErrSlabFull) || RetrySafe(err) || n == 0 || n > have || n+loadAhead*wire.MaxBatch < have || read == len(items) {
		t.Fatalf("%d loaded, the tree has %d, %d read: %v", n, have, read, err)
	}
	for i, it := range items[:n] {
		if len(tree(t, s).SearchAppend(nil, it.Rect, 0)) == 0 {
			t.Fatalf("object %d of %d is missing", i, n)
		}
	}
	bad := many(wire.MaxBatch + 2)
	bad[wire.MaxBatch+1].Rect.MaxX = -1
	s = startServer(t, server.Options{})
	n, err = dial(t, s, Options{}).Load(t.Context(), slices.Values(bad), nil)
	if !errors.Is(err, rstar.ErrBadRect) || n != tree(t, s).Len() || n != wire.MaxBatch || RetrySafe(err) {
		t.Errorf("bad rectangle: %d loaded, the tree has %d: %v", n, tree(t, s).Len(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := dial(t, s, Options{}).Load(ctx, slices.Values(many(1)), nil); n != 0 || !errors.Is(err, context.Canceled) || !RetrySafe(err) {
		t.Errorf("canceled: %d, %v", n, err)
	}
}

// TestLoadRestart: a server that restarts within a load has lost the first
// part, so the load fails.
func TestLoadRestart(t *testing.T) {
	l := newLives(t)
	c := dial(t, l.Server, Options{})
	items := many(100 * wire.MaxBatch / 5)
	n, err := c.Load(t.Context(), func(yield func(rstar.Item) bool) {
		for i, it := range items {
			if i == 10*wire.MaxBatch {
				for tree(t, l.Server).Len() < i {
					runtime.Gosched()
				}
				l.restart()
			}
			if !yield(it) {
				return
			}
		}
	}, nil)
	if !errors.Is(err, model.ErrRestarted) && !errors.Is(err, model.ErrUnknownOutcome) || RetrySafe(err) {
		t.Errorf("%d loaded, %v", n, err)
	}
}
