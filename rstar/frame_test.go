package rstar

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// The claims of frame.go, for any finite boxes and any query. Boxes come from
// all spaces and from coordinates that no map has; a node gets several of
// different kinds.

// frequently checks more cases than rapid does by default: one takes some 10
// us, and claims about all of float64 have rare exceptions.
func frequently(t *testing.T, claim func(*rapid.T)) {
	for range 50 / raceFactor {
		rapid.Check(t, claim)
	}
}

// aCoordinate draws finite coordinates of all magnitudes.
func aCoordinate() *rapid.Generator[float64] {
	const huge = math.MaxFloat64
	return rapid.OneOf(
		rapid.Float64Range(-huge, huge),
		rapid.Float64Range(-1, 1),
		rapid.SampledFrom([]float64{
			0, math.Copysign(0, -1), 1, -1, huge, -huge, huge / 2, 1e300, -1e300,
			1e-300, -1e-300, 0x1p-1022, math.SmallestNonzeroFloat64,
			-math.SmallestNonzeroFloat64, math.Nextafter(1, 2), math.MaxFloat32,
		}),
		// Centimetres in a national grid, and what float32 just cannot
		// distinguish.
		rapid.Map(rapid.IntRange(5e8, 5e8+1000), func(i int) float64 { return float64(i) / 100 }),
		rapid.Map(rapid.IntRange(-64, 64), func(i int) float64 { return 1<<24 + float64(i)/4 }),
	)
}

func aBox() *rapid.Generator[Rect] {
	return rapid.Custom(func(t *rapid.T) Rect {
		if rapid.Bool().Draw(t, "of a space") {
			sp := spaces[rapid.IntRange(0, len(spaces)-1).Draw(t, "space")]
			return sp.rect(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		}
		c := aCoordinate()
		return between(c.Draw(t, "x"), c.Draw(t, "y"), c.Draw(t, "x2"), c.Draw(t, "y2"))
	})
}

// aQuery is any four numbers.
func aQuery() *rapid.Generator[Rect] {
	return rapid.Custom(func(t *rapid.T) Rect {
		c := rapid.OneOf(aCoordinate(), rapid.SampledFrom(oddCoordinates))
		return Rect{c.Draw(t, "minx"), c.Draw(t, "miny"), c.Draw(t, "maxx"), c.Draw(t, "maxy")}
	})
}

// aFrame is the frame of a node of some boxes; world is their MBR.
func aFrame(t *rapid.T) (f frame, world Rect) {
	world = aBox().Draw(t, "world")
	for range rapid.IntRange(0, 2).Draw(t, "more") {
		world = world.Union(aBox().Draw(t, "part"))
	}
	return frameFor(world), world
}

// hits is the result of scans.
func (b box32) hits(f frame, q Rect) bool {
	return b.minX <= f.offset(q.MaxX, f.hx) && b.minY <= f.offset(q.MaxY, f.hy) &&
		f.offset(q.MinX, f.hx) <= b.maxX && f.offset(q.MinY, f.hy) <= b.maxY
}

// TestFrameReaches: a frame reaches the boxes that it was made for, so that a
// node never needs a second one for its own entries.
func TestFrameReaches(t *testing.T) {
	frequently(t, func(t *rapid.T) {
		f, world := aFrame(t)
		if !f.valid() {
			t.Fatalf("frame of %v is %v", world, f)
		}
		b, ok := f.encode(world)
		if !ok {
			t.Fatalf("frame %v of %v does not reach it: %v", f, world, b)
		}
		if !f.decode(b).Contains(world) {
			t.Fatalf("frame %v: %v is stored as %v", f, world, f.decode(b))
		}
	})
}

// TestFrameOutwards: the stored box covers the original, and hardly exceeds it for a
// box of the node's own size.
func TestFrameOutwards(t *testing.T) {
	frequently(t, func(t *rapid.T) {
		f, world := aFrame(t)
		r := aBox().Draw(t, "box")
		if b, ok := f.encode(r); ok && !f.decode(b).Contains(r) {
			t.Fatalf("frame %v of %v: %v is stored as %v", f, world, r, f.decode(b))
		}
		// Below 2^-996 units are of a fixed size (minFrameExp).
		e := max(world.MaxX/2-world.MinX/2, world.MaxY/2-world.MinY/2)
		if e < 0x1p-990 || e > 0x1p+990 || e < 0x1p-40*math.Abs(centerX(world)) ||
			e < 0x1p-40*math.Abs(centerY(world)) {
			return
		}
		b, _ := f.encode(world)
		d, slack := f.decode(b), 0x1p-21*e
		if world.MinX-d.MinX > slack || world.MinY-d.MinY > slack ||
			d.MaxX-world.MaxX > slack || d.MaxY-world.MaxY > slack {
			t.Fatalf("frame %v: %v is stored as %v, more than %v outside", f, world, d, slack)
		}
	})
}

// TestFrameMonotone: of two coordinates the greater has no smaller offset,
// infinities included, and a box within a box is stored within.
func TestFrameMonotone(t *testing.T) {
	frequently(t, func(t *rapid.T) {
		f, _ := aFrame(t)
		c := rapid.OneOf(aCoordinate(), rapid.SampledFrom([]float64{math.Inf(1), math.Inf(-1)}))
		x, y := c.Draw(t, "x"), c.Draw(t, "y")
		x, y = min(x, y), max(x, y)
		if a, b := f.offset(x, f.hx), f.offset(y, f.hx); !(a <= b) {
			t.Fatalf("frame %v: offset(%v) = %v, offset(%v) = %v", f, x, a, y, b)
		}
		inner := aBox().Draw(t, "inner")
		outer := inner.Union(aBox().Draw(t, "outer"))
		a, _ := f.encode(inner)
		if b, ok := f.encode(outer); ok && !b.covers(a) {
			t.Fatalf("frame %v: %v is stored as %v, %v within it as %v", f, outer, b, inner, a)
		}
	})
}

// TestFrameLosesNoHit: a query that intersects an object hits the boxes of
// all nodes above it, each in a frame of its own.
func TestFrameLosesNoHit(t *testing.T) {
	frequently(t, func(t *rapid.T) {
		object, q := aBox().Draw(t, "object"), aQuery().Draw(t, "query")
		if !object.Intersects(q) {
			// Make the query just touch the object: the case that rounding
			// would lose.
			q = Rect{object.MaxX, object.MaxY, object.MaxX, object.MaxY}
			if rapid.Bool().Draw(t, "low corner") {
				q = Rect{object.MinX, object.MinY, object.MinX, object.MinY}
			}
		}
		child := object
		for level := range 4 {
			f, world := aFrame(t)
			b, ok := f.encode(child)
			if !ok {
				f = frameFor(world.Union(child)) // as reframe does
				b, _ = f.encode(child)
			}
			if !b.hits(f, q) {
				t.Fatalf("level %d, frame %v: query %v misses %v of %v, stored as %v",
					level+1, f, q, child, object, b)
			}
			child = f.decode(b)
		}
	})
}

// TestFrameDoesNotCreep: a box that grew by one object after another has the
// same bits as that of the MBR, and so does the box of a box.
func TestFrameDoesNotCreep(t *testing.T) {
	frequently(t, func(t *rapid.T) {
		f, world := aFrame(t)
		up := frameFor(world.Union(aBox().Draw(t, "beside")))
		mbr, grown, above := emptyRect, emptyBox32, emptyBox32
		for range rapid.IntRange(1, 8).Draw(t, "objects") {
			r := aBox().Draw(t, "object")
			b, ok := f.encode(r)
			if !ok {
				continue
			}
			mbr, grown = mbr.Union(r), grown.union(b)
			if whole, ok := f.encode(mbr); !ok || whole != grown {
				t.Fatalf("frame %v: grown to %v, but %v is stored as %v", f, grown, mbr, whole)
			}
			if a, ok := up.encode(f.decode(b)); ok {
				above = above.union(a)
				if whole, ok := up.encode(f.decode(grown)); ok && whole != above {
					t.Fatalf("frame %v above %v: grown to %v, at once %v", up, f, above, whole)
				}
			}
		}
		if grown == emptyBox32 {
			return
		}
		// Stored, taken out and stored again in the same frame: the same.
		if again, ok := f.encode(f.decode(grown)); ok && again != grown {
			if d := f.decode(again); d != f.decode(grown) {
				t.Fatalf("frame %v: %v turned into %v", f, f.decode(grown), d)
			}
		}
	})
}

// TestEncodePaths: every path rounds to the same box, whether within the
// frame's reach or not.
func TestEncodePaths(t *testing.T) {
	eachScan(t, func(t *testing.T) {
		frequently(t, func(t *rapid.T) {
			f, world := aFrame(t)
			for _, r := range []Rect{world, aBox().Draw(t, "other"), emptyRect, {0, 0, 0, 0}} {
				if got, want := encodeBox(&f, &r), f.encodePlain(r); boxBits(got) != boxBits(want) {
					t.Fatalf("%v in frame %v is %v, by the plain path %v", r, f, got, want)
				}
			}
		})
	})
}

func boxBits(b box32) [4]uint32 {
	return [4]uint32{
		math.Float32bits(b.minX), math.Float32bits(b.minY),
		math.Float32bits(b.maxX), math.Float32bits(b.maxY),
	}
}
