package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store/query"
)

// gathered is an EventBatch of ids.
type gathered struct {
	ids   []string
	full  int
	taken func(e *Event) error // nil: takes all
}

func (g *gathered) Filled() (some, full bool) { return len(g.ids) > 0, len(g.ids) >= g.full }

func (g *gathered) Take(e *Event, failed error) error {
	if failed != nil {
		return failed
	}
	if g.taken != nil {
		if err := g.taken(e); err != nil {
			return err
		}
	}
	g.ids = append(g.ids, e.ID)
	return nil
}

func TestFollowerBatches(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	w := watch(t, c, 0, map[string]Query{"": {Area: query.Box(0, 0, 10, 10)}})
	f := Follower{Watcher: w, Slots: limits.NewSlots(1)}
	gather := func(b *gathered, want ...string) error {
		t.Helper()
		err := f.Gather(t.Context(), time.Millisecond, b)
		if fmt.Sprint(b.ids) != fmt.Sprint(want) {
			t.Fatalf("a batch of %v, want %v (%v)", b.ids, want, err)
		}
		return err
	}
	last := uint64(0)
	for i := range 5 {
		last = put(t, c, at(fmt.Sprint(i), 1, 1, ""))
	}
	put(t, c, at("elsewhere", 20, 1, ""))

	if err := gather(&gathered{full: 2}, "0", "1"); err != nil || f.At != last-3 {
		t.Fatalf("a full batch: %v, at %d, want %d", err, f.At, last-3)
	}
	if err := gather(&gathered{full: 1}, "2"); err != nil {
		t.Fatalf("a batch of one: %v", err)
	}
	// An error ends the batch after its event.
	refused := errors.New("refused")
	refusing := &gathered{full: 9, taken: func(*Event) error { return refused }}
	if err := gather(refusing); !errors.Is(err, refused) || f.At != last-1 {
		t.Fatalf("a refused event: %v, at %d, want %d", err, f.At, last-1)
	}
	if err := gather(&gathered{full: 9}, "4"); err != nil || f.At != last+1 {
		t.Fatalf("the last event: %v, at %d, want %d", err, f.At, last+1)
	}
	if err := gather(&gathered{full: 9}); err != nil {
		t.Fatalf("no event within the time: %v", err)
	}
	w.Close()
	if err := gather(&gathered{full: 9}); !errors.Is(err, ErrClosed) {
		t.Fatalf("after the end: %v", err)
	}
}
