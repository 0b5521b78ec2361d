package feature

import (
	"cmp"
	"math"
	"slices"

	"github.com/paulmach/orb"
)

// Cutting at longitude 180 and its repetitions (RFC 7946, section 3.1.9).
//
// A polygon is cut at one meridian at a time. Each ring is split into chains on
// either side; a position on the meridian counts as east of it, so that rings
// that touch it need no special case. All ends of chains of one side lie on the
// meridian. Sorted from south to north, they alternately enter and leave the
// polygon (even-odd rule), so the first and second end are joined by an edge
// along the meridian, the third and fourth, and so on. Following the chains and
// these edges gives the rings of that side, which are shells; holes that are
// not cut are assigned to the shell that contains them.

// piece is a polygon during the cutting: its shell first.
type piece []unwrappedRing

// cutPolygon cuts at all meridians within the extent of the shell. z gets the
// altitudes of the result.
func cutPolygon(rings []unwrappedRing, z *carried) orb.MultiPolygon {
	first, last := turnsOf(rings[0].extent())
	var out orb.MultiPolygon
	rest := []piece{rings}
	for turn := first; turn <= last; turn++ {
		var west, east []piece
		for _, p := range rest {
			if turn == last {
				west = append(west, p)
				continue
			}
			w, e := p.cut(float64(turn)*360 + 180)
			west, east = append(west, w...), append(east, e...)
		}
		for _, p := range west {
			out = append(out, p.back(turn))
			for _, r := range p {
				z.keepUnwrapped(r)
			}
		}
		rest = east
	}
	return out
}

// turnsOf returns which repetitions of -180..180 have a part of lo..hi.
func turnsOf(lo, hi float64) (first, last int) {
	first = int(math.Floor((lo + 180) / 360))
	last = int(math.Ceil((hi - 180) / 360))
	return first, max(first, last)
}

// back moves p from its turn to -180..180.
func (p piece) back(turn int) orb.Polygon {
	out := make(orb.Polygon, len(p))
	for i, r := range p {
		out[i] = make(orb.Ring, len(r))
		for j, v := range r {
			out[i][j] = v.back(turn)
		}
	}
	return out
}

func (v unwrapped) back(turn int) orb.Point {
	x := v.x - float64(turn)*360
	if v.lon > -180 && v.lon < 180 && x > -180 && x < 180 {
		x = v.lon
	}
	return orb.Point{min(max(x, -180), 180), v.y}
}

// cut divides p at meridian m.
func (p piece) cut(m float64) (west, east []piece) {
	var chains [2][]unwrappedRing
	var whole [2][]unwrappedRing
	for i, r := range p {
		side, parts := r.split(m)
		switch {
		case parts != nil:
			for _, c := range parts {
				s := sideOf(c, m)
				chains[s] = append(chains[s], c)
			}
		case i == 0 && side == 0:
			return []piece{p}, nil
		case i == 0:
			return nil, []piece{p}
		default:
			whole[side] = append(whole[side], r)
		}
	}
	return assign(link(chains[0]), whole[0]), assign(link(chains[1]), whole[1])
}

// sideOf returns the side of a chain: 0 for west. One that is all on the meridian is east.
func sideOf(chain unwrappedRing, m float64) int {
	for _, v := range chain {
		if v.x < m {
			return 0
		}
	}
	return 1
}

// split returns the chains of a ring, or else the side on which all of it is.
func (r unwrappedRing) split(m float64) (side int, chains []unwrappedRing) {
	n := len(r) - 1 // The last repeats the first.
	west := func(i int) bool { return r[i%n].x < m }
	start := 0
	for start < n && west(start) == west(start+1) {
		start++
	}
	if start == n {
		if west(0) {
			return 0, nil
		}
		return 1, nil
	}
	chain := unwrappedRing{crossing(r[start], r[(start+1)%n], m)}
	for i := start + 1; i <= start+n; i++ {
		v := r[i%n]
		if len(chain) > 1 || !v.same(chain[0]) {
			chain = append(chain, v)
		}
		if west(i) != west(i+1) {
			end := crossing(v, r[(i+1)%n], m)
			if !end.same(chain[len(chain)-1]) {
				chain = append(chain, end)
			}
			chains = append(chains, chain)
			chain = unwrappedRing{end}
		}
	}
	return 0, chains
}

// crossing is where a step between both sides meets the meridian.
func crossing(a, b unwrapped, m float64) unwrapped {
	switch m {
	case a.x:
		return a
	case b.x:
		return b
	}
	t := (m - a.x) / (b.x - a.x)
	z := a.z + (b.z-a.z)*t
	if math.IsInf(z, 0) { // The difference is larger than any number.
		z = math.NaN()
	}
	return unwrapped{m, a.y + (b.y-a.y)*t, math.NaN(), z}
}

// link joins the chains of one side to rings.
func link(chains []unwrappedRing) []unwrappedRing {
	// End 2i is where chain i begins, 2i+1 where it ends.
	ends := make([]int, 2*len(chains))
	for i := range ends {
		ends[i] = i
	}
	at := func(end int) unwrapped {
		c := chains[end/2]
		if end%2 == 0 {
			return c[0]
		}
		return c[len(c)-1]
	}
	slices.SortStableFunc(ends, func(a, b int) int { return cmp.Compare(at(a).y, at(b).y) })
	partner := make([]int, len(ends))
	for i := 0; i+1 < len(ends); i += 2 {
		partner[ends[i]], partner[ends[i+1]] = ends[i+1], ends[i]
	}
	var rings []unwrappedRing
	used := make([]bool, len(chains))
	for i := range chains {
		var ring unwrappedRing
		for end := 2 * i; !used[end/2]; end = partner[end^1] {
			used[end/2] = true
			c := chains[end/2]
			if end%2 == 1 {
				c = slices.Clone(c)
				slices.Reverse(c)
			}
			ring = append(ring, c...)
		}
		if len(ring) == 0 {
			continue
		}
		ring = append(ring, ring[0])
		if lo, hi := ring.extent(); len(ring) >= 4 && lo < hi {
			rings = append(rings, ring)
		}
	}
	return rings
}

// assign makes a polygon of each shell and the holes that lie in it.
func assign(shells, holes []unwrappedRing) []piece {
	out := make([]piece, len(shells))
	for i, s := range shells {
		out[i] = piece{s}
	}
	for _, h := range holes {
		for i, s := range shells {
			if sideOfRing(s.ring(), h[0].x, h[0].y) >= 0 || i == len(shells)-1 {
				out[i] = append(out[i], h)
				break
			}
		}
	}
	return out
}

// cutLine cuts a line in the same way.
func cutLine(l unwrappedRing, z *carried) orb.MultiLineString {
	var out orb.MultiLineString
	turn := turnAt(l[0], l[min(1, len(l)-1)])
	part := orb.LineString{l[0].back(turn)}
	z.keep(l[0].z)
	for i := 1; i < len(l); i++ {
		for {
			v, step := l[i], 0
			switch {
			case v.x > float64(turn)*360+180:
				step = 1
			case v.x < float64(turn)*360-180:
				step = -1
			}
			if step == 0 {
				part = append(part, v.back(turn))
				z.keep(v.z)
				break
			}
			c := crossing(l[i-1], v, float64(turn)*360+float64(step)*180)
			if p := c.back(turn); p != part[len(part)-1] || len(part) == 1 {
				part = append(part, p)
				z.keep(c.z)
			}
			out = append(out, part)
			turn += step
			part = orb.LineString{c.back(turn)}
			z.keep(c.z)
		}
	}
	return append(out, part)
}

// turnAt is the turn in which the step from a to b begins.
func turnAt(a, b unwrapped) int {
	turn := int(math.Floor((a.x + 180) / 360))
	if a.x == float64(turn)*360-180 && b.x < a.x {
		turn--
	}
	return turn
}
