package mover

import (
	"fmt"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/placement"
)

// gone is the step after Drop.
const gone = placement.Drop + 1

// comesTo reports whether a change of the map takes a move to a step.
func comesTo(step placement.Step, was, next *placement.Map) bool {
	at := map[placement.Part]placement.Step{}
	for _, v := range next.Moves {
		at[v.Part] = v.Step
	}
	for _, v := range was.Moves {
		switch to, moves := at[v.Part]; {
		case moves && to == step && v.Step != step, !moves && step == gone && v.Step == placement.Drop:
			return true
		}
	}
	return false
}

// there has slots move while clients write and read.
func (w *world) there() string {
	c := w.clients()
	time.Sleep(100 * time.Millisecond)
	w.begin(0, c.ids...)
	return c.finish()
}

// thereAndBack has slots move there and back.
func (w *world) thereAndBack() string {
	c := w.clients()
	time.Sleep(100 * time.Millisecond)
	w.begin(0, c.ids...)
	if late := w.eventually("the moves have ended", func() bool { return len(w.keeper.now().Moves) == 0 }); late != "" {
		c.stop()
		return late
	}
	w.begin(1, c.ids...)
	wrong := c.finish()
	if wrong == "" && (c.writes.Load() < 500 || c.direct.Load() < 100) {
		wrong = fmt.Sprintf("%d writes, %d one-sided reads", c.writes.Load(), c.direct.Load())
	}
	return wrong
}

// Slots move to the other group, and back.
func TestMove(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		if wrong := w.thereAndBack(); wrong != "" {
			w.t.Error(wrong)
		}
		if m := w.keeper.now(); m.Epoch < 3 {
			w.t.Errorf("epoch %d", m.Epoch)
		}
	})
}

// faults are what becomes of the changes that take moves to each step: the first, then the next.
type faults struct {
	first outcome
	then  outcome
	times int
}

func (f faults) String() string { return fmt.Sprintf("%d-%d", f.first, f.then) }

// outcomes is a move with faults.
func (w *world) outcomes(f faults) string {
	var n [gone + 1]int
	w.keeper.outcome = func(was, next *placement.Map) outcome {
		for step := placement.CatchUp; step <= gone; step++ {
			if !comesTo(step, was, next) {
				continue
			}
			switch n[step]++; {
			case n[step] == 1:
				if f.first == late {
					time.AfterFunc(60*time.Millisecond, w.keeper.deliver)
				}
				return f.first
			case n[step] <= f.times:
				return f.then
			}
		}
		return made
	}
	return w.there()
}

// A step whose outcome is not known loses nothing, whether it was made, or not, or is later.
func TestOutcomes(t *testing.T) {
	for _, first := range []outcome{lost, unheard, late} {
		for _, f := range []faults{{first, made, 0}, {first, away, 9}} {
			t.Run(f.String(), func(t *testing.T) {
				t.Parallel()
				inWorld(t, func(w *world) {
					if wrong := w.outcomes(f); wrong != "" {
						w.t.Error(wrong)
					}
				})
			})
		}
	}
}
