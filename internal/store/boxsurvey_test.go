package store

import (
	"errors"
	"testing"

	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/rstar"
)

// A survey sees each different box of the collection once, however many copies it has, and no others.
func TestSurvey(t *testing.T) {
	st := open(t, Options{Dir: t.TempDir(), SlabBytes: 16 << 20, Sync: disk.SyncOff})
	for name, from := range map[string]uint64{"roads": 0, "rails": 1 << 20} {
		e, err := st.Create(name, Spec{Kind: KindBoxes, Keep: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(700) {
			x := float64(from + i)
			if err := e.Boxes.Insert(rstar.Rect{MinX: x, MaxX: x + 1, MaxY: 1}, i%500); err != nil {
				t.Fatal(err)
			}
			if i%7 == 0 {
				if err := e.Boxes.Insert(rstar.Rect{MinX: x, MaxX: x + 1, MaxY: 1}, i%500); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	e, err := st.Of("roads", KindBoxes)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := e.Boxes.Survey(t.Context(), func() error { return nil })
	if err != nil || seen.Boxes != 700 || seen.Extent != (rstar.Rect{MaxX: 700, MaxY: 1}) {
		t.Errorf("%d boxes in %v, %v", seen.Boxes, seen.Extent, err)
	}
	if n := len(seen.Positions(seen.Extent)); n != 700 {
		t.Errorf("a sample of %d", n)
	}
	full := errors.New("full")
	if _, err := e.Boxes.Survey(t.Context(), func() error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
}
