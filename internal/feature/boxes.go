package feature

import (
	"cmp"
	"math"
	"slices"

	"github.com/paulmach/orb"
)

// The boxes of a feature in a tree
//
// One box around a geometry of many parts may be mostly empty: that of France
// reaches over the Atlantic, that of Fiji around the globe. Every search in the
// empty part then reads the feature for nothing. So the box is divided where
// that makes it much smaller:
//
//   - several parts: into the two groups with the smallest boxes;
//   - a line: into its first and second half;
//   - a polygon: cut in the middle, and each half gets the box of what is left.
//     Holes stay covered.
//
// The largest box is divided first, until there are MaxBoxes or one for each
// part and 64 vertices (an entry of a tree and its copy here take 70 bytes,
// those vertices 1 KB), or nothing is worth it.

// MaxBoxes is the most boxes of one feature in a tree: see
// docs/decisions/geometry-libraries.md for what fewer and more of them give.
const MaxBoxes = 16

// worth is the share of its cost by which a box must shrink in total to be
// divided.
const worth = 0.15

// region is the part of a geometry that one box covers: several parts or a part of one.
type region struct {
	parts []part
	box   Box
	final bool
}

type part struct {
	kind kind // line for points, too
	v    []orb.Point
	box  Box
}

// boxes covers the geometry by at most the given number of boxes.
func (f *flat) boxes(most int) []Box {
	whole := boundOf(f.vertices)
	parts := f.parts()
	most = min(most, len(parts)+len(f.vertices)/64)
	regions := []region{{parts: parts, box: whole}}
	// Boxes without area have a cost, too.
	rim := max(whole.MaxX-whole.MinX, whole.MaxY-whole.MinY) / 100
	cost := func(b Box) float64 { return (b.MaxX - b.MinX + rim) * (b.MaxY - b.MinY + rim) }
	for len(regions) < most {
		at := -1
		for i, r := range regions {
			if !r.final && (at < 0 || cost(r.box) > cost(regions[at].box)) {
				at = i
			}
		}
		if at < 0 {
			break
		}
		r := regions[at]
		a, b := r.divide(cost)
		if cost(a.box)+cost(b.box) > (1-worth)*cost(r.box) {
			regions[at].final = true
			continue
		}
		regions[at] = a
		regions = append(regions, b)
	}
	// The rounding error of the ends of cut edges is some 2^-53 of the
	// coordinates for each cut.
	pad := 1e-13 * max(math.Abs(whole.MinX), math.Abs(whole.MinY),
		math.Abs(whole.MaxX), math.Abs(whole.MaxY))
	out := make([]Box, len(regions))
	for i, r := range regions {
		out[i] = Box{
			max(r.box.MinX-pad, whole.MinX), max(r.box.MinY-pad, whole.MinY),
			min(r.box.MaxX+pad, whole.MaxX), min(r.box.MaxY+pad, whole.MaxY),
		}
	}
	return out
}

func (f *flat) parts() []part {
	parts := make([]part, 0, len(f.paths))
	first := 0
	for _, p := range f.paths {
		v := f.vertices[first:p.end]
		first = p.end
		switch p.kind {
		case points:
			for i := range v {
				parts = append(parts, part{line, v[i : i+1], boundOf(v[i : i+1])})
			}
		case line, shell:
			parts = append(parts, part{p.kind, v, boundOf(v)})
		}
	}
	return parts
}

func (r *region) divide(cost func(Box) float64) (a, b region) {
	if len(r.parts) > 1 {
		return r.group(cost)
	}
	p := r.parts[0]
	if p.kind == line {
		if len(p.v) < 3 {
			return *r, *r
		}
		half := len(p.v) / 2
		return regionOf(line, p.v[:half+1]), regionOf(line, p.v[half:])
	}
	axis, middle := 0, (p.box.MinX+p.box.MaxX)/2
	if p.box.MaxY-p.box.MinY > p.box.MaxX-p.box.MinX {
		axis, middle = 1, (p.box.MinY+p.box.MaxY)/2
	}
	return regionOf(shell, clip(p.v, axis, middle, 1)),
		regionOf(shell, clip(p.v, axis, middle, -1))
}

func regionOf(k kind, v []orb.Point) region {
	b := boundOf(v)
	return region{parts: []part{{k, v, b}}, box: b}
}

// group finds the best division of the parts in the order of one axis.
func (r *region) group(cost func(Box) float64) (a, b region) {
	best := math.Inf(1)
	n := len(r.parts)
	after := make([]Box, n+1)
	for axis := range 2 {
		sorted := slices.Clone(r.parts)
		slices.SortStableFunc(sorted, func(a, b part) int {
			if axis == 0 {
				return cmp.Compare(a.box.MinX+a.box.MaxX, b.box.MinX+b.box.MaxX)
			}
			return cmp.Compare(a.box.MinY+a.box.MaxY, b.box.MinY+b.box.MaxY)
		})
		after[n] = emptyBox()
		for i := n - 1; i > 0; i-- {
			after[i] = after[i+1].extend(sorted[i].box)
		}
		before := emptyBox()
		for i := 1; i < n; i++ {
			before = before.extend(sorted[i-1].box)
			if c := cost(before) + cost(after[i]); c < best {
				best = c
				a = region{parts: sorted[:i], box: before}
				b = region{parts: sorted[i:], box: after[i]}
			}
		}
	}
	return a, b
}

// clip keeps what lies below (sign 1) or above (-1) a limit (Sutherland and
// Hodgman, Reentrant Polygon Clipping, 1974). Edges along the limit may
// overlap, which does not matter for a box.
func clip(ring []orb.Point, axis int, limit, sign float64) []orb.Point {
	var out []orb.Point
	for i, b := range ring {
		inside := sign*(limit-b[axis]) >= 0
		if i > 0 {
			a := ring[i-1]
			if (sign*(limit-a[axis]) >= 0) != inside {
				t := (limit - a[axis]) / (b[axis] - a[axis])
				var c orb.Point
				c[axis] = limit
				c[1-axis] = a[1-axis] + t*(b[1-axis]-a[1-axis])
				out = append(out, c)
			}
		}
		if inside {
			out = append(out, b)
		}
	}
	if len(out) > 0 && out[0] != out[len(out)-1] {
		out = append(out, out[0])
	}
	return out
}
