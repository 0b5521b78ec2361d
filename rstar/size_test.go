//go:build !race

package rstar

import (
	"math/rand/v2"
	"testing"
)

// Tests of one goroutine and many objects: the race detector would only
// slow them down.

// TestInsertedShape asserts what answers alone do not show: a mistake in the
// choice of children degenerates a tree without one wrong answer.
func TestInsertedShape(t *testing.T) {
	for _, sp := range spaces[:7] {
		if sp.name == "grid" || sp.name == "mixed-sizes" {
			continue // boxes that must overlap have no shape to promise
		}
		t.Run(sp.name, func(t *testing.T) {
			tr := newTree(t, Options{})
			items := sp.draw(rand.New(rand.NewPCG(1, 2)), 20000)
			for _, it := range items {
				mustInsert(t, tr, it)
			}
			mustCheck(t, tr)
			st := tr.Stats()
			// Splits in halves give a fill of ln 2, a little less where nodes
			// are few; ascending ids on one point leave halves behind.
			if st.Height != 3 {
				t.Errorf("height is %d, want 3", st.Height)
			}
			if least := 0.62; st.Fill[0] < least && sp.name != "one-point" {
				t.Errorf("leaves are %.2f full, want %.2f", st.Fill[0], least)
			}
			if st.BytesPerEntry > 100 {
				t.Errorf("%.0f bytes per entry", st.BytesPerEntry)
			}
			before := tr.Stats().NodeReads
			for _, it := range items[:1000] {
				if tr.Count(it.Rect) == 0 {
					t.Fatalf("%v not found", it)
				}
			}
			// Height, plus a share for overlap and for large answers.
			reads := float64(tr.Stats().NodeReads-before) / 1000
			if sp.name != "one-point" && reads > 8 {
				t.Errorf("%.1f node reads per search, want at most 8", reads)
			}
		})
	}
}
