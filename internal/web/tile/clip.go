package tile

import "github.com/paulmach/orb"

// clipRing appends the part of a closed ring in a box (Sutherland and Hodgman,
// Reentrant Polygon Clipping, 1974), closed again, nothing if it is empty. A
// ring that leaves the box and comes back leaves an edge along its border.
// spare is memory to work in, and is returned.
func clipRing(dst, ring, spare []orb.Point, b orb.Bound) (_, _ []orb.Point) {
	from := len(dst)
	in := ring
	for side := range 4 {
		axis, limit, sign := side%2, b.Min[side%2], 1.0
		if side >= 2 {
			limit, sign = b.Max[axis], -1
		}
		out := spare[:0]
		for i := range in {
			p := in[i]
			inside := sign*(p[axis]-limit) >= 0
			if i > 0 {
				if q := in[i-1]; (sign*(q[axis]-limit) >= 0) != inside {
					out = append(out, crossing(q, p, axis, limit))
				}
			}
			if inside {
				out = append(out, p)
			}
		}
		if len(out) > 0 && out[0] != out[len(out)-1] {
			out = append(out, out[0])
		}
		// The next side reads the output of this one, and writes elsewhere.
		dst = append(dst[:from], out...)
		in, spare = dst[from:], out
	}
	if len(dst)-from < 4 {
		dst = dst[:from]
	}
	return dst, spare
}

// crossing is where an edge meets a limit of one axis.
func crossing(a, b orb.Point, axis int, limit float64) (c orb.Point) {
	t := (limit - a[axis]) / (b[axis] - a[axis])
	c[axis], c[1-axis] = limit, a[1-axis]+t*(b[1-axis]-a[1-axis])
	return c
}

// clipLine calls yield with each run of a line in a box. A run is valid until
// yield returns. room is memory to work in, and is returned.
func clipLine(line, room []orb.Point, b orb.Bound, yield func(run []orb.Point)) []orb.Point {
	run := room[:0]
	flush := func() {
		if len(run) > 1 {
			yield(run)
		}
		run = run[:0]
	}
	for i := 1; i < len(line); i++ {
		p, q, cut, ok := clipEdge(line[i-1], line[i], b)
		if !ok {
			flush()
			continue
		}
		if len(run) == 0 {
			run = append(run, p)
		}
		if run = append(run, q); cut {
			flush()
		}
	}
	flush()
	return run
}

// clipEdge is the part of an edge in a box, if any, and whether its end is cut off
// (Liang and Barsky, A New Concept and Method for Line Clipping, 1984).
func clipEdge(p, q orb.Point, b orb.Bound) (from, to orb.Point, cut, ok bool) {
	t0, t1 := 0.0, 1.0
	for axis := range 2 {
		d := q[axis] - p[axis]
		if d == 0 {
			if p[axis] < b.Min[axis] || p[axis] > b.Max[axis] {
				return p, q, false, false
			}
			continue
		}
		a, z := (b.Min[axis]-p[axis])/d, (b.Max[axis]-p[axis])/d
		if a > z {
			a, z = z, a
		}
		t0, t1 = max(t0, a), min(t1, z)
	}
	if t0 > t1 {
		return p, q, false, false
	}
	at := func(t float64) orb.Point { return orb.Point{p[0] + t*(q[0]-p[0]), p[1] + t*(q[1]-p[1])} }
	from, to = p, q
	if t0 > 0 {
		from = at(t0)
	}
	if t1 < 1 {
		to = at(t1)
	}
	return from, to, t1 < 1, true
}
