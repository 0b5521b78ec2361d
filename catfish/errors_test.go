package catfish

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/catfish-index/catfish/internal/limits"
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
		{ErrUnknownCollection, 0, ErrUnknownCollection, true},
		{ErrNotReady, 0, ErrNotReady, true},
		{ErrBusy, 0, ErrBusy, true},
		{ErrTooLarge, 0, ErrTooLarge, true},
		{limits.ErrExceeded, 0, ErrBusy, true},
		{errors.New("a defect"), 0, ErrServer, false},
	} {
		err := getFailure(appendFailure(nil, fmt.Errorf("op: %w", c.err), c.done))
		if !errors.Is(err, c.want) || RetrySafe(err) != c.safe {
			t.Errorf("%v, %d done: %v, want %v; retry safe %v", c.err, c.done, err, c.want, RetrySafe(err))
		}
	}
	// A code of a newer server.
	b := appendFailure(nil, errors.New("text"), 0)
	binary.LittleEndian.PutUint16(b, 999)
	if err := getFailure(b); !errors.Is(err, ErrServer) || RetrySafe(err) {
		t.Errorf("unknown code: %v", err)
	}
}

// TestRefusedInsert: an insert into a full slab may be repeated; an insert of many, of
// which some were inserted, may not.
func TestRefusedInsert(t *testing.T) {
	s := startServer(t, ServerOptions{SlabBytes: 512 << 10})
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
