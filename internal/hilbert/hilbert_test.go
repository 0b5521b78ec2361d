package hilbert_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/catfish-index/catfish/internal/hilbert"
)

// TestOf: at several places the curve visits every cell of a square once, each adjacent to
// the previous one.
func TestOf(t *testing.T) {
	const side = 64 // a power of two, so that a square at its multiples is one run
	for _, corner := range [][2]uint32{{0, 0}, {1 << 31, 1 << 31}, {1<<32 - side, 0}, {1<<32 - side, 1<<32 - side}, {side * 3, side * 5}} {
		at := map[uint64][2]int{}
		least := ^uint64(0)
		for x := range side {
			for y := range side {
				d := hilbert.Of(corner[0]+uint32(x), corner[1]+uint32(y))
				at[d], least = [2]int{x, y}, min(least, d)
			}
		}
		for i := uint64(1); i < side*side; i++ {
			a, okA := at[least+i-1]
			b, okB := at[least+i]
			dx, dy := a[0]-b[0], a[1]-b[1]
			if !okA || !okB || dx*dx+dy*dy != 1 {
				t.Fatalf("at %v: cell %v (%v) at %d comes after %v (%v)", corner, b, okB, least+i, a, okA)
			}
		}
	}
	if d := hilbert.Of(1<<32-1, 0); d != 1<<64-1 {
		t.Errorf("the curve ends at %d", d)
	}
}

// TestMeets: as often as any cell of the rectangle has a position in the run.
func TestMeets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Cells at the corners and in the middle of the square, so that all sizes matter.
		corner := rapid.SampledFrom([]uint32{0, 1<<31 - 4, 1<<32 - 8, 12345}).Draw(t, "x")
		cornerY := rapid.SampledFrom([]uint32{0, 1<<31 - 4, 1<<32 - 8, 54321}).Draw(t, "y")
		near := rapid.Uint32Range(0, 7)
		a, b, c, d := near.Draw(t, "minx"), near.Draw(t, "miny"), near.Draw(t, "maxx"), near.Draw(t, "maxy")
		r := hilbert.Rect{MinX: corner + min(a, c), MinY: cornerY + min(b, d), MaxX: corner + max(a, c), MaxY: cornerY + max(b, d)}
		end := rapid.OneOf(rapid.Uint64(), rapid.Custom(func(t *rapid.T) uint64 {
			return hilbert.Of(corner+near.Draw(t, "x"), cornerY+near.Draw(t, "y"))
		}))
		from, to := end.Draw(t, "from"), end.Draw(t, "to")
		from, to = min(from, to), max(from, to)
		want := false
		for x := uint64(r.MinX); x <= uint64(r.MaxX); x++ {
			for y := uint64(r.MinY); y <= uint64(r.MaxY); y++ {
				p := hilbert.Of(uint32(x), uint32(y))
				want = want || (from <= p && p <= to)
			}
		}
		if got := hilbert.Meets(from, to, r); got != want {
			t.Fatalf("from %d to %d in %+v: %v, want %v", from, to, r, got, want)
		}
	})
}
