package replica

import "testing"

// TestOrder: as many states are found from the latest first as from the earliest first.
// Otherwise the encoder would take states for the same that lead to different ones, and
// the search would miss some.
func TestOrder(t *testing.T) {
	for _, s := range worlds {
		switch s.name {
		case "two", "clean", "fails", "threeOld", "threeMoved":
			wide, deep := search(s.with(), maxStates, 0, false), search(s.with(), maxStates, 0, true)
			if wide.wrong != nil || wide.states != deep.states || wide.moves != deep.moves {
				t.Errorf("%s: %d states and %d moves, %d and %d, %v", s.name, wide.states, wide.moves, deep.states, deep.moves, wide.wrong)
			}
		}
	}
}
