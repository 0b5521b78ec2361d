package history

import (
	"strings"
	"testing"

	"github.com/catfish-index/catfish/rstar"
)

var (
	placeA = rstar.Rect{MinX: 0, MinY: 0, MaxX: 1, MaxY: 1}
	placeB = rstar.Rect{MinX: 5, MinY: 5, MaxX: 6, MaxY: 6}
	all    = rstar.Rect{MinX: -10, MinY: -10, MaxX: 10, MaxY: 10}
)

// at records an operation with both times given.
func (r *Recorder) at(call, end int64, o op) *Recorder {
	r.ops = append(r.ops, recorded{int(call), call, end, o})
	return r
}

func read(q, seen rstar.Rect) op { return op{read: true, query: q, seen: seen} }
func write(from, to rstar.Rect, found bool) op {
	return op{from: from, to: to, found: found}
}
func lost(from, to rstar.Rect) op { return op{from: from, to: to, unknown: true} }

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name string
		r    *Recorder
		ok   bool
	}{
		{"seen where it is", New().at(1, 2, read(all, placeA)), true},
		{"missed although it stayed", New().at(1, 2, read(all, Absent)), false},
		{"not covered", New().at(1, 2, read(placeB, Absent)), true},
		{"seen where it never was", New().at(1, 2, read(all, placeB)), false},
		{"moved, seen at the old place during", New().at(1, 4, write(placeA, placeB, true)).at(2, 3, read(all, placeA)), true},
		{"moved, seen at the new place during", New().at(1, 4, write(placeA, placeB, true)).at(2, 3, read(all, placeB)), true},
		{"moved, seen at neither", New().at(1, 4, write(placeA, placeB, true)).at(2, 3, read(all, Absent)), false},
		{"moved, a later search sees the old place", New().at(1, 2, write(placeA, placeB, true)).at(3, 4, read(all, placeA)), false},
		{"seen new, then old", New().at(1, 9, write(placeA, placeB, true)).at(2, 3, read(all, placeB)).at(4, 5, read(all, placeA)), false},
		{"deleted, still seen later", New().at(1, 2, write(placeA, Absent, true)).at(3, 4, read(all, placeA)), false},
		{"delete found nothing though it is there", New().at(1, 2, write(placeA, Absent, false)), false},
		{"lost delete that happened", New().at(1, never, lost(placeA, Absent)).at(3, 4, read(all, Absent)), true},
		{"lost delete that did not", New().at(1, never, lost(placeA, Absent)).at(3, 4, read(all, placeA)), true},
		{"lost delete undone", New().at(1, never, lost(placeA, Absent)).at(3, 4, read(all, Absent)).at(5, 6, read(all, placeA)), false},
	} {
		err := c.r.Check(map[uint64]rstar.Rect{0: placeA})
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil && !strings.Contains(err.Error(), "object 0") {
			t.Errorf("%s: error does not name the object: %v", c.name, err)
		}
	}
}

func TestImpossibleResults(t *testing.T) {
	r := New()
	r.Search(1, r.Now(), all, 1, []rstar.Item{{Rect: placeA}, {Rect: placeB}})
	if err := r.Check(nil); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("object returned twice: %v", err)
	}
	r = New()
	r.Search(1, r.Now(), placeA, 1, []rstar.Item{{Rect: placeB}})
	if err := r.Check(map[uint64]rstar.Rect{0: placeB}); err == nil {
		t.Error("a result outside the query was accepted")
	}
}
