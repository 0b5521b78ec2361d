package mover

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/placement"
)

// steps sends each step that moves come to for the first time.
func (w *world) steps() <-chan placement.Step {
	c := make(chan placement.Step, gone+1)
	var seen [gone]atomic.Bool // Changes of several groups come at once.
	w.keeper.changed = func(is *placement.Map) {
		for _, v := range is.Moves {
			if seen[v.Step].CompareAndSwap(false, true) {
				c <- v.Step
			}
		}
	}
	return c
}

// successors has a primary end, or be deposed without notice, at each step.
func (w *world) successors(side int, ends bool) string {
	c := w.clients()
	time.Sleep(100 * time.Millisecond)
	steps := w.steps()
	w.begin(0, c.ids...)
	for left := gone; left > 0; {
		select {
		case step := <-steps:
			left--
			was := w.groups[side].is.Load()
			if ends {
				was.end()
			}
			w.promote(side)
			time.AfterFunc(groupLease, func() { was.dead.Store(true) })
			w.log.Logger().Info("promoted", "at", step)
		case <-time.After(time.Minute):
			if m := w.keeper.now(); len(m.Moves) > 0 || m.Epoch > 1 {
				c.stop()
				return fmt.Sprintf("%d steps were not seen: %+v", left, m.Moves)
			}
			w.begin(0, c.ids...) // It was undone.
		}
	}
	wrong := c.finish()
	if m := w.keeper.now(); wrong == "" && slices.ContainsFunc(c.ids, func(id string) bool { return m.Of([]byte(id)) == 0 }) {
		wrong = "some slots have not moved"
	}
	return wrong
}

// The primary of either side ends, or is deposed without notice, at each step of a move.
func TestSuccessors(t *testing.T) {
	for side := range 2 {
		for _, ends := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d/%v", side, ends), func(t *testing.T) {
				t.Parallel()
				inWorld(t, func(w *world) {
					if wrong := w.successors(side, ends); wrong != "" {
						w.t.Error(wrong)
					}
				})
			})
		}
	}
}

// deposed has the step of a deposed source arrive when its successor takes writes.
func (w *world) deposed(step placement.Step) string {
	c := w.clients()
	time.Sleep(100 * time.Millisecond)
	asked := make(chan struct{}, 1)
	var arrived atomic.Bool
	w.keeper.outcome = func(was, next *placement.Map) outcome {
		switch {
		case arrived.Load() || !comesTo(step, was, next):
			return made
		case len(asked) == 0:
			asked <- struct{}{}
			return late
		}
		return away
	}
	w.begin(0, c.ids...)
	if wrong := w.eventually("the step is asked for", func() bool { return len(asked) > 0 }); wrong != "" {
		c.stop()
		return wrong
	}
	w.promote(0)
	time.Sleep(50 * time.Millisecond)
	w.keeper.deliver()
	time.Sleep(50 * time.Millisecond)
	arrived.Store(true)
	return c.finish()
}

// A step of a deposed primary changes nothing.
func TestDeposed(t *testing.T) {
	for _, step := range []placement.Step{placement.Freeze, placement.Drop} {
		t.Run(step.String(), func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				if wrong := w.deposed(step); wrong != "" {
					w.t.Error(wrong)
				}
			})
		})
	}
}

// again has moves undone at some steps, each when ids were written and deleted, and begun again: at
// once, so that no member sees the map between, or later.
func (w *world) again(at ...placement.Step) string {
	c := w.clients()
	for i, at := range at {
		time.Sleep(100 * time.Millisecond)
		steps := w.steps()
		w.begin(0, c.ids...)
		for <-steps != at {
		}
		if err := w.keeper.change(undoAll(i%2 == 1)); err != nil {
			c.stop()
			return err.Error()
		}
		time.Sleep(300 * time.Millisecond)
		if err := w.keeper.change(undoAll(false)); err != nil {
			c.stop()
			return err.Error()
		}
	}
	w.begin(0, c.ids...)
	return c.finish()
}

// undo undoes moves that are not decided.
func undo(m *placement.Map, moves []placement.Move, again bool) (*placement.Map, error) {
	for _, v := range moves {
		if !v.Step.Undoable() {
			continue
		}
		undone, err := m.Undo(v.Part)
		if err == nil && again {
			undone, err = undone.Begin(placement.Move{Part: v.Part, From: v.From, To: v.To})
		}
		if m = undone; err != nil {
			return nil, err
		}
	}
	return m, nil
}

// undoAll undoes what is not decided.
func undoAll(again bool) func(m *placement.Map) (*placement.Map, error) {
	return func(m *placement.Map) (*placement.Map, error) { return undo(m, m.Moves, again) }
}

// A move that was undone leaves nothing, and the slots take writes.
func TestAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		if wrong := w.again(placement.Copy, placement.Copy, placement.CatchUp, placement.CatchUp, placement.Freeze, placement.Wait); wrong != "" {
			w.t.Error(wrong)
		}
	})
}

// Each planted fault is noticed.
func TestPlants(t *testing.T) {
	for plant, test := range map[plant]func(w *world) string{
		blind:      func(w *world) string { return w.deposed(placement.Freeze) },
		thawAtOnce: func(w *world) string { return w.outcomes(faults{late, away, 9}) },
		writes:     func(w *world) string { return w.there() },
		early:      func(w *world) string { return w.there() },
		leftovers:  func(w *world) string { return w.again(placement.CatchUp) },
		unbounded:  func(w *world) string { return w.there() },
	} {
		t.Run(fmt.Sprint(plant), func(t *testing.T) {
			t.Parallel()
			withPlant(t, plant, func(w *world) {
				wrong := test(w)
				if wrong == "" {
					w.t.Error("it was not noticed")
				}
				w.t.Logf("%.120s", wrong)
			})
		})
	}
}
