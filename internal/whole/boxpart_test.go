package whole

import (
	"errors"
	"testing"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/rstar"
)

// closing is a tree during whose counts a part of the store is closed.
type closing struct {
	BoxTree
	during func()
}

func (c closing) CountSome(q rstar.Rect, nodes int) (int, *rstar.Scan) {
	n, rest := c.BoxTree.CountSome(q, nodes)
	c.during()
	return n, rest
}

// TestBoxesOfClosedParts: while a part is closed, or is closed meanwhile, its boxes may be another group's: a
// search does not count.
func TestBoxesOfClosedParts(t *testing.T) {
	tree, err := rstar.New(rstar.Options{SlabBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Insert(rstar.Rect{MaxX: 1, MaxY: 1}, 7); err != nil {
		t.Fatal(err)
	}
	during := func() {}
	h := newHalf(t, 0, Options{Boxes: func(string) (BoxTree, error) { return closing{tree, func() { during() }}, nil }})
	set := func(closed bool) {
		s := store.Slots{Epoch: 1, Owned: store.AllSlots()}
		if closed {
			s.Closed.Add(1)
		}
		if err := h.st.SetSlots(s); err != nil {
			t.Error(err)
		}
	}
	count := func() (int, error) {
		r := &request{Op: opCountBoxes, Epoch: 1, Collection: "boxes", Box: &boxText{Rects: []rstar.Rect{{MaxX: 2, MaxY: 2}}}}
		a, err := h.part(t.Context(), "test", r, func(int64) error { return nil }, nil)
		return a.N, err
	}
	set(false)
	if n, err := count(); n != 1 || err != nil {
		t.Errorf("open: %d, %v", n, err)
	}
	during = func() { set(true) }
	if _, err := count(); !errors.Is(err, fault.ErrMoved) {
		t.Errorf("closed meanwhile: %v", err)
	}
	during = func() { t.Error("a search of a closed part") }
	if _, err := count(); !errors.Is(err, fault.ErrMoved) {
		t.Errorf("closed: %v", err)
	}
}
