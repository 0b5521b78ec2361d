package rstar

import (
	"math"
	"math/bits"
)

// Distances of a node's entries from a point, for the nearest search. Like
// scans (scan.go), these functions read nodes in place and treat all entries
// without a branch; leafDistPlain (take.go) and innerDistPlain are the
// reference.
//
//	leaf    d[8*g+w]   of object 7*g + w-1, in float64: what Distance
//	                   returns, if no square overflows or vanishes
//	inner   d[16*g+w]  of child 14*g + w-2, in float32 and units of the
//	                   frame: approximate, see frameDistance
//
// Elements of lane 0 are arbitrary.

// distances has room for the groups of the largest node.
type distances struct {
	leaf  [maxGroups * lanes]float64
	inner [maxGroups * 2 * lanes]float32
}

// Distances outside these limits have squares that lose bits or overflow.
const (
	minPlainDistance = 0x1p-500
	maxPlainDistance = 0x1p+500
)

// Distance returns the Euclidean distance from (x, y) to the nearest
// point of r, 0 inside. It overflows to +Inf only beyond float64's range.
func (r Rect) Distance(x, y float64) float64 {
	dx := max(r.MinX-x, 0, x-r.MaxX)
	dy := max(r.MinY-y, 0, y-r.MaxY)
	// The conversions forbid a fused multiply-add, so that all paths and
	// processors agree to the bit.
	d := math.Sqrt(float64(dx*dx) + float64(dy*dy))
	if d > minPlainDistance && d < maxPlainDistance {
		return d
	}
	return math.Hypot(dx, dy)
}

// innerDistPlain is the reference path for internal nodes; p is the point
// in units of the frame.
func innerDistPlain(n *uint64, groups int, p *[2]float32, d *distances) {
	at := math.Float32frombits
	for i := range groups {
		g := groupAt(n, i)
		for w := 2; w < 2*lanes; w++ {
			dx := max(at(g.half(w))-p[0], p[0]-at(g.half(w+fieldMaxX)), 0)
			dy := max(at(g.half(w+fieldMinY))-p[1], p[1]-at(g.half(w+fieldMaxY)), 0)
			d.inner[i*2*lanes+w] = float32(math.Sqrt(float64(float32(dx*dx) + float32(dy*dy))))
		}
	}
}

// nearPlain puts into hits the elements of d that are in the mask left and at
// most near, and returns the least of the others in left. It is the reference
// for leaves and internal nodes.
func nearPlain[F float32 | float64](d []F, left, hits *masks, near F) F {
	rest := F(math.Inf(1))
	for i, b := range left {
		hits[i] = 0
		for ; b != 0; b &= b - 1 {
			if v := d[i*64+bits.TrailingZeros64(b)]; v <= near {
				hits[i] |= b & -b
			} else {
				rest = min(rest, v)
			}
		}
	}
	return rest
}

// frameDistance turns distances in units of a node's frame into keys that do not exceed
// the distance of any object in the box.
//
// In units, the point's offset p is computed in float64 with an error of 2^-53 of its
// terms, and rounded to float32 with a relative error of 2^-24; so is each difference
// from a border. The squares, their sum and its root have an error of some 2^-23 of the
// result. So the true distance is at least
//
//	d*(1 - 2^-20) - 2^-22*(|px|+|py|) - 2^-51*(|hx|+|hy|)
//
// with room to spare. Where a square overflows, d is infinite, and known to
// be more than mostUnits. Where the query's offset overflows, nothing is
// known and the key is 0: the node is merely visited early.
type frameDistance struct {
	p     [2]float32
	slack float64
	unit  float64 // 1/s
}

func newFrameDistance(f frame, x, y float64) frameDistance {
	px, py := float64(x*f.s)-f.hx, float64(y*f.s)-f.hy
	return frameDistance{
		p: [2]float32{float32(px), float32(py)},
		slack: 0x1p-22*(math.Abs(px)+math.Abs(py)) +
			0x1p-51*(math.Abs(f.hx)+math.Abs(f.hy)),
		unit: 1 / f.s,
	}
}

// mostUnits is far below the root of the largest float32: the square of
// anything below it does not overflow.
const mostUnits = 0x1p60

// key returns the key of a child at distance d.
func (f *frameDistance) key(d float32) float64 {
	if k := (float64(min(d, mostUnits))*(1-0x1p-20) - f.slack) * f.unit; k > 0 {
		return k
	}
	return 0
}
