package mover

import (
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/store"
)

// Ranges of boxes are divided and move while clients write, count and read memory; what an
// undone move leaves is dropped.
func TestBoxesMove(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		if wrong := w.boxesAlone(t.Context()); wrong != "" {
			w.t.Error(wrong)
		}
	})
}

// A move of boxes that are in memory alone is undone by the group that has them.
func TestBoxesInMemoryStay(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		e, err := w.groups[0].store.Create("roads", store.Spec{Kind: store.KindBoxes})
		if err != nil {
			w.t.Fatal(err)
		}
		it := boxOf(0, 0)
		if err := e.Tree.Insert(it.Rect, it.ID); err != nil {
			w.t.Fatal(err)
		}
		if err := w.boxesMove(0); err != nil {
			w.t.Fatal(err)
		}
		if late := w.eventually("the move is undone", func() bool { return len(w.keeper.now().Moves) == 0 }); late != "" {
			w.t.Error(late)
		}
		if m := w.keeper.now(); m.Epoch != 1 || e.Tree.Len() != 1 || !strings.Contains(w.log.String(), "in memory alone") {
			w.t.Errorf("epoch %d, %d boxes", m.Epoch, e.Tree.Len())
		}
	})
}
