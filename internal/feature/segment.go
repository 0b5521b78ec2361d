package feature

// segmentsMeet reports, exactly, whether segments ab and cd share a point.
// Segments of no length are points.
func segmentsMeet(ax, ay, bx, by, cx, cy, dx, dy float64) bool {
	if max(ax, bx) < min(cx, dx) || max(cx, dx) < min(ax, bx) ||
		max(ay, by) < min(cy, dy) || max(cy, dy) < min(ay, by) {
		return false
	}
	// Their boxes meet. The segments meet if neither lies wholly on one side of
	// the other's line; on one common line meeting boxes are enough.
	return orient(ax, ay, bx, by, cx, cy)*orient(ax, ay, bx, by, dx, dy) <= 0 &&
		orient(cx, cy, dx, dy, ax, ay)*orient(cx, cy, dx, dy, bx, by) <= 0
}

// segmentMeetsBox reports, exactly, whether ab and b share a point.
func segmentMeetsBox(ax, ay, bx, by float64, b Box) bool {
	if max(ax, bx) < b.MinX || b.MaxX < min(ax, bx) ||
		max(ay, by) < b.MinY || b.MaxY < min(ay, by) {
		return false
	}
	if b.hasPoint(ax, ay) || b.hasPoint(bx, by) {
		return true
	}
	// They meet unless all corners lie on one side.
	low := orient(ax, ay, bx, by, b.MinX, b.MinY)
	return low == 0 || low != orient(ax, ay, bx, by, b.MaxX, b.MinY) ||
		low != orient(ax, ay, bx, by, b.MinX, b.MaxY) ||
		low != orient(ax, ay, bx, by, b.MaxX, b.MaxY)
}

// edge returns edge i of a path; of points, point i twice.
func (v *View) edge(p *path, i int) (ax, ay, bx, by float64) {
	ax, ay = v.vertex(i)
	if p.kind == points {
		return ax, ay, ax, ay
	}
	bx, by = v.vertex(i + 1)
	return ax, ay, bx, by
}

// edges returns the edges of a piece, from first to end-1.
func (v *View) edges(p *path, i int) (first, end int, box Box) {
	first, last, box := v.piece(p, i)
	if p.kind == points {
		last++
	}
	return first, last, box
}

// intersects reports, exactly, whether a and b share a point: an edge of one
// meets one of the other, or all of a path lies inside the other's polygons.
// It does not allocate.
func intersects(a, b *View) bool {
	if a.typ == None || b.typ == None || !a.Bound().Intersects(b.Bound()) {
		return false
	}
	return edgesMeet(a, b) || pathInside(a, b) || pathInside(b, a)
}

// pathInside reports whether the first vertex of a path of a lies in b.
func pathInside(a, b *View) bool {
	for p := (path{}); a.next(&p); {
		if p.kind == points {
			for i := p.first; i < p.end && a.steps.count(1); i++ {
				if x, y := a.vertex(i); b.locate(x, y) >= 0 {
					return true
				}
			}
			continue
		}
		if x, y := a.vertex(p.first); b.locate(x, y) >= 0 {
			return true
		}
	}
	return false
}

func edgesMeet(a, b *View) bool {
	bound := b.Bound()
	for p := (path{}); a.next(&p); {
		for i := range p.pieces() {
			first, end, box := a.edges(&p, i)
			if !box.Intersects(bound) {
				continue
			}
			if a.runMeets(&p, first, end, box, b) {
				return true
			}
		}
	}
	return false
}

// runMeets reports whether one of some edges of a, in box, meets one of b.
func (v *View) runMeets(p *path, first, end int, box Box, b *View) bool {
	for q := (path{}); b.next(&q); {
		for i := range q.pieces() {
			from, to, other := b.edges(&q, i)
			if !box.Intersects(other) {
				continue
			}
			for j := first; j < end; j++ {
				ax, ay, bx, by := v.edge(p, j)
				if max(ax, bx) < other.MinX || other.MaxX < min(ax, bx) ||
					max(ay, by) < other.MinY || other.MaxY < min(ay, by) {
					continue
				}
				if !v.steps.count(1) {
					return false
				}
				for k := from; k < to; k++ {
					cx, cy, dx, dy := b.edge(&q, k)
					if segmentsMeet(ax, ay, bx, by, cx, cy, dx, dy) {
						return true
					}
				}
			}
		}
	}
	return false
}
