package client

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/status"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// TestFailures: errors.Is finds the cause of a server's refusal at the client, which
// may repeat the request unless a part was done.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		err  error
		done uint64
		want error
		safe bool
	}{
		{rstar.ErrSlabFull, 0, rstar.ErrSlabFull, true},
		{rstar.ErrSlabFull, 3, rstar.ErrSlabFull, false},
		{rstar.ErrBadRect, 0, rstar.ErrBadRect, true},
		{model.ErrUnknownCollection, 0, model.ErrUnknownCollection, true},
		{model.ErrNotReady, 0, model.ErrNotReady, true},
		{model.ErrBusy, 0, model.ErrBusy, true},
		{model.ErrTooLarge, 0, model.ErrTooLarge, true},
		{limits.ErrExceeded, 0, model.ErrBusy, true},
		{errors.New("a defect"), 0, model.ErrServer, false},
	} {
		err := wire.GetFailure(wire.AppendFailure(nil, fmt.Errorf("op: %w", c.err), c.done))
		if !errors.Is(err, c.want) || RetrySafe(err) != c.safe {
			t.Errorf("%v, %d done: %v, want %v; retry safe %v", c.err, c.done, err, c.want, RetrySafe(err))
		}
	}
	// A code of a newer server.
	b := wire.AppendFailure(nil, errors.New("text"), 0)
	binary.LittleEndian.PutUint16(b, 999)
	if err := wire.GetFailure(b); !errors.Is(err, model.ErrServer) || RetrySafe(err) {
		t.Errorf("unknown code: %v", err)
	}
}

// TestRetrySafeFollowsTheTable: a client may repeat what a server refused by any code of
// the wire, unless the table says that the outcome is unknown.
func TestRetrySafeFollowsTheTable(t *testing.T) {
	for code := status.Internal; code <= status.RateLimited; code++ {
		is := status.OfWire(code)
		err := wire.GetFailure(wire.AppendFailure(nil, is, 0))
		if known := status.RetryOf(is) != status.Unknown; !errors.Is(err, is) || RetrySafe(err) != known {
			t.Errorf("code %d, %v: safe to repeat: %v, by the table: %v", code, err, RetrySafe(err), known)
		}
	}
}

// TestRefusedInsert: an insert into a full slab may be repeated; an insert of many, of
// which some were inserted, may not.
func TestRefusedInsert(t *testing.T) {
	s := startServer(t, server.Options{SlabBytes: 512 << 10})
	c := dial(t, s, Options{})
	items := make([]rstar.Item, 1<<14)
	for i := range items {
		items[i] = rstar.Item{Rect: square(float64(i), 0), ID: uint64(i)}
	}
	n, err := c.InsertMany(t.Context(), items)
	if !errors.Is(err, rstar.ErrSlabFull) || n == 0 || n != tree(t, s).Len() || RetrySafe(err) {
		t.Fatalf("%d inserted, the tree has %d: %v, retry safe %v", n, tree(t, s).Len(), err, RetrySafe(err))
	}
	// The last leaves may have room for a few.
	for err = nil; err == nil; {
		err = c.Insert(t.Context(), square(0, 1), 1)
	}
	if !errors.Is(err, rstar.ErrSlabFull) || !RetrySafe(err) {
		t.Fatalf("insert into a full slab: %v, retry safe %v", err, RetrySafe(err))
	}
}
