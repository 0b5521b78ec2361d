package rstar

import (
	"math"
	"math/rand/v2"
	"testing"
)

// bitsOf compares rectangles bit by bit: -0 is not 0, NaN is itself.
func bitsOf(r Rect) [4]uint64 {
	return [4]uint64{
		math.Float64bits(r.MinX), math.Float64bits(r.MinY),
		math.Float64bits(r.MaxX), math.Float64bits(r.MaxY),
	}
}

// TestKeys: keys are in the order of their coordinates, and give them back.
func TestKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		a, b := math.Float64frombits(r.Uint64()), math.Float64frombits(r.Uint64())
		if r.IntN(4) == 0 {
			b = math.Nextafter(a, b)
		}
		if a < b && keyOf(a) >= keyOf(b) || a > b && keyOf(a) <= keyOf(b) {
			t.Fatalf("keys of %v and %v are %d and %d", a, b, keyOf(a), keyOf(b))
		}
		if got := ofKey(keyOf(a)); math.Float64bits(got) != math.Float64bits(a) {
			t.Fatalf("key of %v gives %v", a, got)
		}
	}
	if keyOf(math.Copysign(0, -1)) >= keyOf(0) {
		t.Fatal("-0 is not before 0")
	}
}

// TestLeafFrame: a frame reaches the rectangle for which it was made, and more; nothing
// is rounded; the center stays known when the frame grows.
func TestLeafFrame(t *testing.T) {
	for _, sp := range spaces {
		r := rand.New(rand.NewPCG(3, 4))
		for range 2000 {
			world := sp.rect(r)
			for range r.IntN(5) {
				world = world.Union(sp.rect(r))
			}
			f := leafFrameFor(world)
			if !f.reaches(world) {
				t.Fatalf("%s: frame %v does not reach %v", sp.name, f, world)
			}
			checkHalves(t, f, world)
			x, y := f.made()
			if c := centerX(world); f.x.shift < maxShift && x != c && f.x.base > math.MinInt64 {
				t.Fatalf("%s: made at x %v, want %v", sp.name, x, c)
			}
			more := world.Union(sp.rect(r))
			g := f.grown(more)
			if !g.reaches(more) {
				t.Fatalf("%s: frame %v, grown, does not reach %v", sp.name, g, more)
			}
			checkHalves(t, g, more)
			if gx, gy := g.made(); gx != x && gx == gx && x == x || gy != y && gy == gy && y == y {
				t.Fatalf("%s: made at (%v, %v), after growth (%v, %v)", sp.name, x, y, gx, gy)
			}
		}
	}
}

func checkHalves(t *testing.T, f leafFrame, r Rect) {
	t.Helper()
	h := f.encode(r)
	if got := f.decode(h); bitsOf(got) != bitsOf(r) {
		t.Fatalf("frame %v: %v became %v", f, r, got)
	}
	// The content of another field of the low bits must not matter: all are full words.
	for i := range h.low {
		flipped := h
		flipped.low[i] = ^flipped.low[i]
		if f.decode(flipped) == r {
			t.Fatalf("word %d of the low bits of %v has no effect", i, r)
		}
	}
}

// TestRoomToGrow: a leaf that grows several times its size keeps its frame.
func TestRoomToGrow(t *testing.T) {
	f := leafFrameFor(Rect{0.60, 0.60, 0.61, 0.61})
	if r := (Rect{0.57, 0.57, 0.64, 0.64}); !f.reaches(r) {
		t.Errorf("frame %v does not reach %v", f, r)
	}
	if f.x.shift >= maxShift {
		t.Errorf("shift is %d", f.x.shift)
	}
}

// TestFieldsAtMost: field by field.
func TestFieldsAtMost(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 100_000 {
		a, b := r.Uint64(), r.Uint64()
		if r.IntN(2) == 0 { // close ones
			b = a + 1<<(r.IntN(64)) - r.Uint64N(2)
		}
		want := uint64(1)
		for i := 0; i < 64; i += 16 {
			if a>>i&0xFFFF > b>>i&0xFFFF {
				want = 0
			}
		}
		if got := fieldsAtMost(a, b); got != want {
			t.Fatalf("fieldsAtMost(%#x, %#x) is %d", a, b, got)
		}
	}
}

// TestHighBits: the high bits leave every object that intersects a query as a
// candidate, and few others.
func TestHighBits(t *testing.T) {
	for _, sp := range spaces {
		r := rand.New(rand.NewPCG(7, 8))
		left, hits := 0, 0
		for range 200 {
			objects, world := make([]Rect, 40), emptyRect
			for i := range objects {
				objects[i] = sp.rect(r)
				world = world.Union(objects[i])
			}
			f := leafFrameFor(world)
			for range 20 {
				q := sp.rect(r)
				if r.IntN(4) == 0 {
					q = Rect{someCoordinate(r), q.MinY, someCoordinate(r), q.MaxY}
				}
				if r.IntN(4) == 0 { // touches an object
					o := objects[r.IntN(len(objects))]
					q = Rect{o.MaxX, o.MaxY, o.MaxX, o.MaxY}
				}
				most := f.query(&q)
				for _, o := range objects {
					is, may := o.Intersects(q), fieldsAtMost(f.encode(o).high, most) == 1
					if is && !may {
						t.Fatalf("%s: frame %v, query %v: the high bits of %v rule it out", sp.name, f, q, o)
					}
					if may {
						left++
					}
					if is {
						hits++
					}
				}
			}
		}
		if sp.name == "uniform" && left > hits+hits/100 {
			t.Errorf("%s: the high bits leave %d objects, %d intersect", sp.name, left, hits)
		}
	}
}

// FuzzHalves: any bits are kept, in any frame that reaches them.
func FuzzHalves(f *testing.F) {
	f.Add(0.1, 0.2, 0.3, 0.4, 0.1, 0.4)
	f.Add(math.NaN(), math.Inf(1), -1e308, 5e-324, 0.0, math.Copysign(0, -1))
	f.Fuzz(func(t *testing.T, minX, minY, maxX, maxY, lo, hi float64) {
		r := Rect{minX, minY, maxX, maxY}
		frames := []leafFrame{{anywhere, anywhere}, leafFrameFor(r), leafFrameFor(Rect{lo, lo, hi, hi})}
		for _, f := range append(frames, frames[2].grown(r)) {
			if !f.reaches(r) {
				continue
			}
			checkHalves(t, f, r)
			if r == r && minX <= maxX && minY <= maxY && fieldsAtMost(f.encode(r).high, f.query(&r)) == 0 {
				t.Fatalf("frame %v: the high bits of %v rule it out", f, r)
			}
		}
	})
}
