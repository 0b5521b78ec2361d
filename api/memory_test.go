package api

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/tap"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/rstar"
)

// fullBackend is out of memory while full is set.
type fullBackend struct {
	backend
	full atomic.Bool
}

func (b *fullBackend) CheckMemory() error {
	if b.full.Load() {
		return fmt.Errorf("%w: it holds 7 bytes, limit 6", catfish.ErrBusy)
	}
	return nil
}

// TestNoMemoryRefusesWrites: while there is no memory, calls that need more are refused,
// with a delay for a retry and nothing changed; deletes and small answers are not.
func TestNoMemoryRefusesWrites(t *testing.T) {
	it := rstar.Item{Rect: rstar.Rect{MaxX: 1, MaxY: 1}, ID: 1}
	col, empty := &fake{items: []rstar.Item{it, it}}, &fake{}
	b := &fullBackend{backend: backend{"default": col, "empty": empty}}
	c := startBufconn(t, b)
	ctx := testContext(t)
	b.full.Store(true)
	calls := map[string]func() error{
		"insert": func() error {
			_, err := c.Insert(ctx, &catfishv1.InsertRequest{Item: pbItem(it)})
			return err
		},
		"update": func() error {
			_, err := c.Update(ctx, &catfishv1.UpdateRequest{OldRect: pbRect(it.Rect), NewRect: pbRect(world), Id: 1})
			return err
		},
		"load":         func() error { _, err := c.load(ctx, "empty", []rstar.Item{it}, 1); return err },
		"load of more": func() error { _, err := c.load(ctx, "", []rstar.Item{it}, 1); return err },
	}
	for name, call := range calls {
		err := call()
		if d := detailsOf(err); d.code != codes.ResourceExhausted || d.reason != ReasonBusy || !d.retry ||
			!strings.Contains(err.Error(), "limit 6") {
			t.Errorf("%s: %v, %+v", name, err, d)
		}
	}
	if col.Len() != 2 || empty.Len() != 0 || col.items[0] != it {
		t.Errorf("%d and %d objects, want 2 and none", col.Len(), empty.Len())
	}
	if got, err := c.search(ctx, &catfishv1.SearchRequest{Query: pbRect(world)}); err != nil || len(got) != 2 {
		t.Errorf("search: %d objects, %v", len(got), err)
	}
	if _, err := c.Delete(ctx, &catfishv1.DeleteRequest{Item: pbItem(it)}); err != nil {
		t.Errorf("delete: %v", err)
	}
	b.full.Store(false)
	for name, call := range calls {
		if err := call(); err != nil {
			t.Errorf("%s, with memory again: %v", name, err)
		}
	}
}

// A large answer is refused while there is no memory.
func TestNoMemoryRefusesLargeAnswer(t *testing.T) {
	b := &fullBackend{backend: backend{}}
	s := NewServer(b)
	b.full.Store(true)
	ctx, err := s.calls.tap(t.Context(), &tap.Info{})
	if err != nil {
		t.Fatal(err)
	}
	if err := hold(ctx, limits.FullAnswer); err != nil {
		t.Errorf("a small answer: %v", err)
	}
	if d := detailsOf(statusOf("", hold(ctx, limits.FullAnswer+1))); d.code != codes.ResourceExhausted || !d.retry {
		t.Errorf("a large answer: %+v", d)
	}
}
