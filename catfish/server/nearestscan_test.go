package server

import (
	"slices"
	"testing"

	"github.com/catfish-index/catfish/rstar"
)

// TestNearestPieces: the answer to a nearest is sent in pieces, in order, and a piece
// is no longer held once it was sent.
func TestNearestPieces(t *testing.T) {
	tree, err := rstar.New(rstar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	var items []rstar.Item
	for id := range uint64(20_000) {
		x, y := float64(id%157), float64(id%211)
		items = append(items, rstar.Item{Rect: rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}, ID: id})
	}
	if err := tree.Load(items); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ k, within float64 }{{3*pieceItems + 7, 1e9}, {2 * pieceItems, 1e9}, {15_000, 40}} {
		req := request{limit: uint32(c.k), within: c.within}
		var want []rstar.Item
		tree.Nearest(1, 2, func(r rstar.Rect, id uint64, dist float64) bool {
			if dist <= c.within {
				want = append(want, rstar.Item{Rect: r, ID: id})
			}
			return dist <= c.within && len(want) < int(c.k)
		})
		near, rest := tree.NearestSome(nil, 1, 2, int(c.k), 8)
		if rest == nil {
			t.Fatalf("%d nearest are found at once", int(c.k))
		}
		n := newNearestScan(rest, near, &req)
		for !n.Step(64) {
		}
		if n.Count() != len(want) {
			t.Fatalf("%d found, want %d", n.Count(), len(want))
		}
		var got []rstar.Item
		for held := n.Held(); ; {
			piece := n.Take()
			if piece == nil {
				break
			}
			if len(piece) > pieceItems {
				t.Errorf("a piece of %d objects", len(piece))
			}
			if now := n.Held(); now > held {
				t.Errorf("%d bytes are held, %d before", now, held)
			} else {
				held = now
			}
			got = append(got, piece...)
		}
		if !slices.EqualFunc(got, want, func(a, b rstar.Item) bool {
			return a.Rect.Distance(1, 2) == b.Rect.Distance(1, 2)
		}) {
			t.Errorf("the nearest %d within %v are not in order, or not those", int(c.k), c.within)
		}
		n.Close()
	}
}
