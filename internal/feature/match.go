package feature

import "math"

// Match reports whether the feature fits the query. Features without a
// geometry never do. It does not allocate, except when boundaries touch in a
// query by polygon for Within or Contains (within.go); an error is only
// possible then.
func (q *Query) Match(v *View) (bool, error) {
	if v.typ == None {
		return false, nil
	}
	switch q.kind {
	case queryPoint:
		return v.meetsPoints(&q.area), nil
	case queryBox:
		switch q.relation {
		case Intersects:
			return q.meetsBoxes(v), nil
		case Within:
			return q.withinBoxes(v), nil
		}
		return q.areaWithin(v)
	case queryPolygon:
		switch q.relation {
		case Intersects:
			return q.meetsArea(v), nil
		case Within:
			return liesWithin(v, &q.area)
		}
		return q.areaWithin(v)
	}
	return q.matchCircle(v), nil
}

// areaWithin is Match for Contains: only polygons contain an area.
func (q *Query) areaWithin(v *View) (bool, error) {
	switch v.typ {
	case Polygon, MultiPolygon, GeometryCollection:
		return liesWithin(&q.area, v)
	}
	return false, nil
}

// meetsPoints reports whether one of a few points lies in v or on an edge.
func (v *View) meetsPoints(points *View) bool {
	for i := range points.nvertices {
		x, y := points.vertex(i)
		if v.hasPoint(x, y) {
			return true
		}
	}
	return false
}

// hasPoint reports exactly whether the point lies in v or on an edge.
func (v *View) hasPoint(x, y float64) bool {
	if !v.Bound().hasPoint(x, y) {
		return false
	}
	switch v.typ {
	case Point:
		return true
	case Polygon, MultiPolygon:
		return v.locate(x, y) >= 0
	}
	for p := (path{}); v.next(&p); {
		for i := range p.pieces() {
			first, end, box := v.edges(&p, i)
			if !box.hasPoint(x, y) {
				continue
			}
			for j := first; j < end; j++ {
				ax, ay, bx, by := v.edge(&p, j)
				if segmentsMeet(ax, ay, bx, by, x, y, x, y) {
					return true
				}
			}
		}
	}
	return v.locate(x, y) >= 0
}

func (q *Query) meetsBoxes(v *View) bool {
	for _, b := range q.boxes {
		if v.meetsBox(b) {
			return true
		}
	}
	return false
}

// meetsBox is exact: an edge meets the box, or the box lies in a polygon.
func (v *View) meetsBox(b Box) bool {
	bound := v.Bound()
	if !b.Intersects(bound) {
		return false
	}
	if v.typ == Point || b.covers(bound) {
		return true
	}
	if b.MinX == b.MaxX && b.MinY == b.MaxY {
		return v.hasPoint(b.MinX, b.MinY) // in one pass
	}
	for p := (path{}); v.next(&p); {
		for i := range p.pieces() {
			first, end, box := v.edges(&p, i)
			if !b.Intersects(box) {
				continue
			}
			for j := first; j < end; j++ {
				ax, ay, bx, by := v.edge(&p, j)
				if segmentMeetsBox(ax, ay, bx, by, b) {
					return true
				}
			}
		}
	}
	return v.locate(b.MinX, b.MinY) >= 0
}

// withinBoxes: each path lies in one box, and some point strictly inside.
// Boxes of one query never share more than the meridian of 180 degrees, so a
// connected path in their union is in one of them.
func (q *Query) withinBoxes(v *View) bool {
	if len(q.boxes) == 1 && !q.boxes[0].covers(v.Bound()) {
		return false
	}
	inside := false
	for p := (path{}); v.next(&p); {
		fits := false
		for _, b := range q.boxes {
			all, some := v.pathWithin(&p, b)
			fits = fits || all
			inside = inside || all && some
		}
		if p.kind == points && !fits {
			// Points need not all be in the same box.
			for i := p.first; i < p.end && v.steps.count(1); i++ {
				in, strictly := q.pointWithin(v.vertex(i))
				if !in {
					return false
				}
				inside = inside || strictly
			}
			continue
		}
		if !fits {
			return false
		}
	}
	return inside
}

func (q *Query) pointWithin(x, y float64) (in, strictly bool) {
	for _, b := range q.boxes {
		in = in || b.hasPoint(x, y)
		strictly = strictly || b.strictly(x, y)
	}
	return in, strictly
}

// strictly reports whether (x, y) is in the interior of b, which for a line or
// a point is all of it.
func (b Box) strictly(x, y float64) bool {
	if b.degenerate() {
		return b.hasPoint(x, y)
	}
	return b.MinX < x && x < b.MaxX && b.MinY < y && y < b.MaxY
}

// pathWithin reports whether a path lies in b, and whether some of it is in b's
// interior: a vertex, or an edge that does not run along one side. All of a
// ring that lies in b encloses interior points.
func (v *View) pathWithin(p *path, b Box) (all, some bool) {
	some = p.kind >= shell || b.degenerate()
	for i := range p.pieces() {
		first, end, box := v.edges(p, i)
		if p.chunks > 0 && b.covers(box) && some {
			continue
		}
		for j := first; j < end; j++ {
			ax, ay, bx, by := v.edge(p, j)
			if !b.hasPoint(ax, ay) || !b.hasPoint(bx, by) {
				return false, false
			}
			some = some || b.strictly(ax, ay) || b.strictly(bx, by) ||
				p.kind == line && !(ax == bx && (ax == b.MinX || ax == b.MaxX) ||
					ay == by && (ay == b.MinY || ay == b.MaxY))
		}
	}
	return true, some
}

// meetsArea tries a point on 180 degrees under both longitudes.
func (q *Query) meetsArea(v *View) bool {
	if v.typ != Point {
		return intersects(v, &q.area)
	}
	x, y := v.vertex(0)
	return q.area.hasPoint(x, y) ||
		q.space == Geographic && math.Abs(x) == 180 && q.area.hasPoint(-x, y)
}

// matchCircle compares distances. On the sphere all of a feature lies within a
// circle if and only if all of it is at least the rest of half the globe away
// from the opposite point; in the plane, where edges are straight, if all
// vertices lie in it.
func (q *Query) matchCircle(v *View) bool {
	switch {
	case q.relation == Intersects:
		return q.origin.Distance(v) <= q.radius
	case q.relation == Contains:
		return v.locate(q.origin.x, q.origin.y) >= 0 && q.origin.toEdges(v, true) >= q.radius &&
			(q.radius > 0 || v.locate(q.origin.x, q.origin.y) > 0)
	case q.space == Planar:
		for i := 0; i < v.nvertices && v.steps.count(1); i++ {
			x, y := v.vertex(i)
			if q.origin.to(x, y) > q.radius {
				return false
			}
		}
		return true
	case v.typ == Point:
		return q.origin.to(v.vertex(0)) <= q.radius
	}
	return q.antipode.Distance(v) >= math.Pi*EarthRadius-q.radius
}
