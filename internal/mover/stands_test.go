package mover

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// When a destination ends for good, the source's slots take writes again: also if it does not know
// whether they are frozen by the map.
func TestDestinationEnds(t *testing.T) {
	for name, first := range map[string]outcome{"frozen": made, "unknown": lost} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				c := w.clients()
				time.Sleep(100 * time.Millisecond)
				w.keeper.outcome = func(was, next *placement.Map) outcome {
					if !comesTo(placement.Freeze, was, next) {
						return made
					}
					w.groups[1].is.Load().die()
					if first == lost { // And the next ones, as long as the destination is heard of.
						return lost
					}
					return made
				}
				w.begin(0, c.ids...)
				wrong := w.eventually("the moves are undone", func() bool { return len(w.keeper.now().Moves) == 0 })
				writes := c.writes.Load()
				if wrong = all(wrong, w.eventually("clients write", func() bool { return c.writes.Load() > writes+100 })); wrong == "" {
					w.promote(1) // It drops its copies.
				}
				if wrong = all(wrong, c.finish()); wrong != "" {
					w.t.Error(wrong)
				}
				if m := w.keeper.now(); m.Epoch != 1 || !strings.Contains(w.log.String(), "moves are undone") {
					w.t.Errorf("epoch %d", m.Epoch)
				}
			})
		})
	}
}

// Slots of which some moves are undone, or begun again, do not keep the others of their session from
// moving.
func TestSomeUndone(t *testing.T) {
	for _, again := range []bool{true, false} {
		for _, at := range []placement.Step{placement.Copy, placement.CatchUp} {
			t.Run(fmt.Sprintf("%v/%v", at, again), func(t *testing.T) {
				t.Parallel()
				inWorld(t, func(w *world) {
					c := w.clients()
					steps := w.steps()
					w.begin(0, c.ids...)
					for <-steps != at {
					}
					err := w.keeper.change(func(m *placement.Map) (*placement.Map, error) {
						return undo(m, m.Moves[:3], again)
					})
					if err != nil {
						w.t.Error(err)
					}
					if wrong := c.finish(); wrong != "" {
						w.t.Error(wrong)
					}
				})
			})
		}
	}
}

// A stream breaks, and the source's log is trimmed before there is another one: the slots are
// copied again, with a collection that was created meanwhile.
func TestTrimmed(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.clients()
		steps := w.steps()
		w.begin(0, c.ids...)
		for <-steps != placement.CatchUp {
		}
		w.groups[1].is.Load().cut()
		source := w.groups[0].store
		later, err := source.CreateFeatures("later", store.CollectionOptions{Title: "Later"})
		if err != nil {
			w.t.Fatal(err)
		}
		big := []byte(`{"n":"` + strings.Repeat("x", 60<<10) + `"}`)
		m := w.keeper.now()
		for i := 0; !trimmed(source); i++ {
			if id := fmt.Sprintf("big %d", i%50); m.Of([]byte(id)) == 0 {
				_, _, err := later.Put(w.t.Context(), store.Feature{ID: id, Geometry: orb.Point{1, 1}, Properties: big}, kv.Condition{})
				if err != nil {
					w.t.Fatal(err)
				}
			}
			if i > 5000 {
				w.t.Fatal("the log is not trimmed")
			}
		}
		for i := range 50 {
			if id := fmt.Sprintf("big %d", i); m.Of([]byte(id)) == 0 {
				if _, err := later.Delete(w.t.Context(), id, kv.Condition{}); err != nil {
					w.t.Fatal(err)
				}
			}
		}
		w.groups[1].is.Load().deaf.Store(false)
		if wrong := c.finish(); wrong != "" {
			w.t.Error(wrong)
		}
		if _, err := w.groups[1].store.Collection("later"); err != nil || !strings.Contains(w.log.String(), "it is made again") {
			w.t.Error(err)
		}
	})
}

// trimmed reports whether a store's log begins after what a copy has seen.
func trimmed(st *store.Store) bool {
	_, _, err := st.SlotLog(context.Background(), new(store.Parts), 100, 1)
	return errors.Is(err, disk.ErrTrimmed)
}
