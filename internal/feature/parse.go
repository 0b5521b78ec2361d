package feature

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Parse checks untrusted bytes and returns a View of them. Afterwards no method
// of it panics or loops, with any bytes. Parse takes time in proportion to
// their length and does not allocate. It does not check that the properties are
// JSON, or that boxes and chunks cover what they should: a peer that wrote
// wrong ones only gets other answers.
func Parse(b []byte) (View, error) {
	var v View
	if err := v.open(b); err != nil {
		return View{}, err
	}
	if err := v.validate(); err != nil {
		return View{}, err
	}
	return v, nil
}

func (v *View) validate() error {
	if v.typ < LineString && v.b[2] != 0 || v.nboxes > MaxBoxes || v.nboxes == 1 {
		return fmt.Errorf("%w: %d boxes, at most %d", ErrCorrupt, v.b[2], MaxBoxes)
	}
	if v.b[3]&^(flagProperties|flagAltitudes) != 0 ||
		v.b[3]&flagProperties == 0 && len(v.b) != v.properties {
		return fmt.Errorf("%w: flags %#x with %d bytes of properties",
			ErrCorrupt, v.b[3], len(v.b)-v.properties)
	}
	if err := v.validateAltitudes(); err != nil || v.typ == None {
		return err
	}
	if v.typ != Point {
		if v.npaths == 0 || v.npaths > maxPaths || v.nvertices > maxVertices {
			return fmt.Errorf("%w: %d paths, %d vertices",
				ErrCorrupt, v.npaths, v.nvertices)
		}
		if err := v.validatePaths(); err != nil {
			return err
		}
		if err := v.validateTypes(); err != nil {
			return err
		}
		if !v.finite(headBytes, headBytes+boxBytes) ||
			!v.finite(v.boxes, v.paths) || !v.finite(v.chunks, v.vertices) {
			return fmt.Errorf("%w: a box is not finite", ErrCorrupt)
		}
	}
	if !v.finite(v.vertices, v.vertices+v.nvertices*vertexBytes) {
		return fmt.Errorf("%w: a coordinate is not finite", ErrCorrupt)
	}
	return nil
}

// finite reports whether there is no NaN or infinity in b[from:to].
func (v *View) finite(from, to int) bool {
	const exponent = 0x7ff << 52
	b := v.b[from:to]
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b)&exponent == exponent {
			return false
		}
	}
	return true
}

// validatePaths checks that kinds are known, that paths divide the vertices,
// and that each has the right number of chunks.
func (v *View) validatePaths() error {
	end, chunk, before := 0, 0, points
	for i := range v.npaths {
		off := v.paths + i*pathBytes
		next, word := u32(v.b, off), u32(v.b, off+4)
		k, n := kind(word&7), next-end
		least := 1
		switch {
		case k == line:
			least = 2
		case k >= shell:
			least = 4
		}
		if k < points || k > hole || k == hole && before < shell ||
			n < least || next > v.nvertices {
			return fmt.Errorf("%w: path %d has kind %d and %d vertices",
				ErrCorrupt, i, k, n)
		}
		if v.nchunks > 0 {
			chunk += chunksOf(k, n)
		}
		if word>>3 != chunk {
			return fmt.Errorf("%w: path %d has chunks up to %d, want %d",
				ErrCorrupt, i, word>>3, chunk)
		}
		if k >= shell && !v.closed(end, next-1) {
			return fmt.Errorf("%w: path %d is not closed", ErrCorrupt, i)
		}
		end, before = next, k
	}
	if end != v.nvertices || chunk != v.nchunks {
		return fmt.Errorf("%w: paths have %d of %d vertices, %d of %d chunks",
			ErrCorrupt, end, v.nvertices, chunk, v.nchunks)
	}
	return nil
}

func (v *View) closed(first, last int) bool {
	x0, y0 := v.vertex(first)
	x1, y1 := v.vertex(last)
	return math.Float64bits(x0) == math.Float64bits(x1) &&
		math.Float64bits(y0) == math.Float64bits(y1) || x0 == x1 && y0 == y1
}

// validateTypes checks that the paths are those of the type or, in a
// collection, of its members' types.
func (v *View) validateTypes() error {
	if v.typ != GeometryCollection {
		if v.nmembers != 0 {
			return fmt.Errorf("%w: %s with %d members", ErrCorrupt, v.typ, v.nmembers)
		}
		return v.validateMember(v.typ, 0, v.npaths)
	}
	// left[d] counts the remaining members at depth d+1.
	var left [MaxDepth]int
	depth, at := 0, 0
	left[0] = -1 // Any number of members.
	for i := range v.nmembers {
		for depth > 0 && left[depth] == 0 {
			depth--
		}
		left[depth]--
		t, count := u32(v.b, v.members+i*memberBytes), u32(v.b, v.members+i*memberBytes+4)
		if t < int(Point) || t > int(GeometryCollection) || count == 0 {
			return fmt.Errorf("%w: member %d has type %d, count %d",
				ErrCorrupt, i, t, count)
		}
		if Type(t) == GeometryCollection {
			if depth++; depth == MaxDepth || count > v.nmembers {
				return fmt.Errorf("%w: member %d is a collection of %d at depth %d",
					ErrCorrupt, i, count, depth)
			}
			left[depth] = count
			continue
		}
		if count > v.npaths-at {
			return fmt.Errorf("%w: member %d has %d paths, %d are left",
				ErrCorrupt, i, count, v.npaths-at)
		}
		if err := v.validateMember(Type(t), at, count); err != nil {
			return err
		}
		at += count
	}
	for d := 1; d <= depth; d++ {
		if left[d] > 0 {
			return fmt.Errorf("%w: %d members are missing", ErrCorrupt, left[d])
		}
	}
	if at != v.npaths {
		return fmt.Errorf("%w: members have %d of %d paths", ErrCorrupt, at, v.npaths)
	}
	return nil
}

// validateMember checks that n paths from first on make a geometry of type t.
func (v *View) validateMember(t Type, first, n int) error {
	for i := range n {
		k := kind(v.b[v.paths+(first+i)*pathBytes+4] & 7)
		ok := false
		switch t {
		case Point:
			ok = k == points && n == 1 && v.pathVertices(first) == 1
		case MultiPoint:
			ok = k == points && n == 1
		case LineString:
			ok = k == line && n == 1
		case MultiLineString:
			ok = k == line
		case Polygon:
			ok = k == shell && i == 0 || k == hole && i > 0
		case MultiPolygon:
			ok = k == shell || k == hole && i > 0
		}
		if !ok {
			return fmt.Errorf("%w: path %d of %d in a %s has kind %d",
				ErrCorrupt, i, n, t, k)
		}
	}
	return nil
}

func (v *View) pathVertices(i int) int {
	n := u32(v.b, v.paths+i*pathBytes)
	if i > 0 {
		n -= u32(v.b, v.paths+(i-1)*pathBytes)
	}
	return n
}
