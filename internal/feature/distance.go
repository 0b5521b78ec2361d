package feature

import "math"

// Distances to geometries
//
// An edge on the sphere is straight in longitude and latitude, as in all tests
// of this package, and not a great circle. Distance finds its nearest point by
// minimising the haversine along it: it is cut into steps of at most edgeStep
// degrees, along each of which the haversine is nearly a parabola, and Newton's
// method is used on each. The result is a point of the edge, so the distance is
// never less than the true one, and so never below LowerBound. It is more by
// less than a millimetre, or 0.2 m for a point as far away as the antipode,
// where the haversine is flat (TestDistanceDense).

// edgeStep is a compromise: halving it makes an edge of one degree twice as
// slow and the error, which is far below a millimetre already, smaller.
const edgeStep = 1.0

// maxSteps is the number of steps of an edge around the globe. Only corrupt
// bytes have longer edges.
const maxSteps = 360 / edgeStep

// newtonSteps: each about doubles the correct digits, from at least two.
const newtonSteps = 3

// Distance is the distance to the nearest point of the geometry: metres along a
// great circle in a geographic space (a sphere of EarthRadius), else the unit
// of the plane. It is 0 inside polygons, and +Inf without a geometry. It does
// not allocate.
func (o *Origin) Distance(v *View) float64 {
	switch v.typ {
	case None:
		return math.Inf(1)
	case Point:
		x, y := v.vertex(0)
		return o.to(x, y)
	}
	if v.locate(o.x, o.y) >= 0 {
		return 0
	}
	return o.toEdges(v, false)
}

// to returns the distance to one point.
func (o *Origin) to(x, y float64) float64 {
	if o.space == Planar {
		return planarDistance(o.x, o.y, x, y)
	}
	return o.metres(x, y)
}

// toEdges returns the distance to the nearest edge, or to the nearest one that
// is really a boundary: not made by cutting at 180 degrees, nor at a pole.
func (o *Origin) toEdges(v *View, boundary bool) float64 {
	best := math.Inf(1)
	n := nearest{o: o, h: math.Inf(1), chord: math.Inf(1), reach: math.Inf(1)}
	for p := (path{}); v.next(&p); {
		for i := range p.pieces() {
			first, end, box := v.edges(&p, i)
			if p.chunks > 0 && o.Beyond(box, best) {
				continue
			}
			if o.space == Planar {
				for j := first; j < end; j++ {
					best = min(best, o.toSegment(v.edge(&p, j)))
				}
				continue
			}
			for j := first; j < end; j++ {
				ax, ay, bx, by := v.edge(&p, j)
				if least, _ := o.angles(edgeBox(ax, ay, bx, by)); least > n.reach {
					continue
				}
				if !v.steps.count(1 + int(math.Abs(bx-ax)+math.Abs(by-ay))/8) {
					return best
				}
				if !boundary || !v.seam(ax, ay, bx, by) {
					n.edge(ax, ay, bx, by)
				}
			}
			best = n.metres()
		}
	}
	return best
}

func edgeBox(ax, ay, bx, by float64) Box {
	return Box{min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)}
}

// seam reports whether an edge lies at a pole, or at 180 degrees with the
// geometry on the other side, too.
func (v *View) seam(ax, ay, bx, by float64) bool {
	if math.Abs(ay) == 90 && ay == by {
		return true
	}
	return math.Abs(ax) == 180 && ax == bx && v.locate(-ax, (ay+by)/2) >= 0
}

// nearest is the nearest point so far, by its haversine and, equivalently, the
// length of the chord to it on a sphere of radius 1. A box with least (Origin.angles)
// above reach has no point so near.
type nearest struct {
	o        *Origin
	h, chord float64
	reach    float64
	x, y     float64
	// The point tried last, at which the next edge begins.
	lastX, lastY, last float64
}

// metres is +Inf before the first point.
func (n *nearest) metres() float64 {
	if math.IsInf(n.h, 1) {
		return n.h
	}
	return n.o.metres(n.x, n.y)
}

// try returns the haversine of a point.
func (n *nearest) try(x, y float64) float64 {
	if x == n.lastX && y == n.lastY && n.last > 0 {
		return n.last
	}
	h := n.o.haversine(x, y)
	if h < n.h {
		n.h, n.chord, n.x, n.y = h, 2*math.Sqrt(h), x, y
		n.reach = grown(n.chord)
	}
	n.lastX, n.lastY, n.last = x, y, h
	return h
}

// edge tries an edge in steps. No point of a step is farther from the nearer
// end than half the step's length, and a chord is at most as long as that. So
// steps whose ends are far away are skipped.
func (n *nearest) edge(ax, ay, bx, by float64) {
	h := n.try(ax, ay)
	if ax == bx && ay == by {
		return
	}
	steps := min(maxSteps, math.Ceil(max(math.Abs(bx-ax), math.Abs(by-ay))/edgeStep))
	dx, dy := (bx-ax)/steps, (by-ay)/steps
	half := (math.Abs(dx) + math.Abs(dy)) * (radians / 2)
	for i := 1.0; i <= steps; i++ {
		x, y := bx, by
		if i < steps {
			x, y = clamp(ax+i*dx, ax, bx), clamp(ay+i*dy, ay, by)
		}
		before := h
		h = n.try(x, y)
		if 2*math.Sqrt(min(before, h))-half > n.chord {
			continue
		}
		px, py := ax+(i-1)*dx, ay+(i-1)*dy
		if t, ok := n.o.newton(px, py, dx, dy); ok {
			n.try(clamp(px+t*dx, ax, bx), clamp(py+t*dy, ay, by))
		}
	}
}

// clamp keeps a rounded value within the edge.
func clamp(x, a, b float64) float64 { return min(max(x, min(a, b)), max(a, b)) }

// newton minimises the haversine along (x, y) + t (dx, dy) for t in 0..1. It
// returns false if the minimum is at an end.
func (o *Origin) newton(x, y, dx, dy float64) (float64, bool) {
	dl, df := dx*radians, dy*radians
	t := 0.5
	for range newtonSteps {
		sf, cf := math.Sincos((y + t*dy) * radians)
		sd, cd := math.Sincos((y + t*dy - o.y) * radians)
		sl, cl := math.Sincos((x + t*dx - o.x) * radians)
		hl := (1 - cl) / 2 // sin² of half the difference
		first := sd*df/2 + o.cos*(-sf*df*hl+cf*sl*dl/2)
		second := cd*df*df/2 + o.cos*(-cf*df*df*hl-sf*df*sl*dl+cf*cl*dl*dl/2)
		if !(second > 0) {
			return 0, false
		}
		next := min(max(t-first/second, 0), 1)
		if next == t {
			break
		}
		t = next
	}
	return t, true
}

// toSegment returns the distance to a segment in the plane.
func (o *Origin) toSegment(ax, ay, bx, by float64) float64 {
	dx, dy := bx-ax, by-ay
	t := ((o.x-ax)*dx + (o.y-ay)*dy) / (dx*dx + dy*dy)
	switch {
	case !(t > 0): // Also if the segment is too short to be squared.
		return planarDistance(o.x, o.y, ax, ay)
	case t >= 1:
		return planarDistance(o.x, o.y, bx, by)
	}
	return planarDistance(o.x, o.y, clamp(ax+t*dx, ax, bx), clamp(ay+t*dy, ay, by))
}
