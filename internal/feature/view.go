package feature

import (
	"encoding/binary"
	"fmt"
	"math"
)

// View reads the bytes of a feature in place. It aliases them: they must not
// change while it is used. The zero View has no geometry and no properties.
type View struct {
	b          []byte
	typ        Type
	nboxes     int
	npaths     int
	nvertices  int
	nmembers   int
	nchunks    int
	boxes      int // offsets
	paths      int
	members    int
	chunks     int
	vertices   int
	altitudes  int // 0: none
	properties int
	steps      *Steps // of a test that walks over it; nil: it is not divided
}

// Open is Parse for bytes that this process has written: it checks the sizes
// alone, in constant time, and touches no vertex. On other bytes the methods
// of the View may panic.
func Open(b []byte) (View, error) {
	var v View
	return v, v.open(b)
}

func (v *View) open(b []byte) error {
	if len(b) < headBytes {
		return fmt.Errorf("%w: %d bytes, want at least %d",
			ErrCorrupt, len(b), headBytes)
	}
	if b[0] != LayoutVersion {
		return fmt.Errorf("%w: layout version %d, want %d",
			ErrCorrupt, b[0], LayoutVersion)
	}
	*v = View{b: b, typ: Type(b[1])}
	switch {
	case v.typ == None:
		v.properties = headBytes
	case v.typ == Point:
		v.npaths, v.nvertices = 1, 1
		v.vertices, v.properties = headBytes, pointHeader
	case v.typ > GeometryCollection:
		return fmt.Errorf("%w: geometry type %d", ErrCorrupt, b[1])
	case len(b) < bodyBytes:
		return fmt.Errorf("%w: %d bytes, want at least %d",
			ErrCorrupt, len(b), bodyBytes)
	default:
		v.nboxes = int(b[2])
		v.npaths, v.nvertices = u32(b, 40), u32(b, 44)
		v.nmembers, v.nchunks = u32(b, 48), u32(b, 52)
		// No sum overflows: five terms below 2^37 each.
		v.boxes = bodyBytes
		v.paths = v.boxes + v.nboxes*boxBytes
		v.members = v.paths + v.npaths*pathBytes
		v.chunks = v.members + v.nmembers*memberBytes
		v.vertices = v.chunks + v.nchunks*boxBytes
		v.properties = v.vertices + v.nvertices*vertexBytes
	}
	if b[3]&flagAltitudes != 0 {
		v.altitudes = v.properties
		v.properties += v.nvertices * altitudeBytes
	}
	if want := v.properties + u32(b, 4); len(b) != want {
		return fmt.Errorf("%w: %d bytes, want %d", ErrCorrupt, len(b), want)
	}
	return nil
}

// Type returns the type of the geometry.
func (v *View) Type() Type { return v.typ }

// Bound returns the box around the geometry. A geometry that crosses 180
// degrees has a bound as wide as the world; its Boxes are narrow. Without a
// geometry the bound is empty: its minima are +Inf.
func (v *View) Bound() Box {
	switch v.typ {
	case None:
		return emptyBox()
	case Point:
		x, y := v.vertex(0)
		return Box{x, y, x, y}
	}
	return boxAt(v.b, headBytes)
}

// Boxes appends the boxes under which a tree holds the feature: one for most,
// none without a geometry, at most MaxBoxes. Together they cover the
// geometry. A search that meets several of them meets the feature several
// times.
func (v *View) Boxes(dst []Box) []Box {
	if v.typ == None {
		return dst
	}
	if v.nboxes == 0 {
		return append(dst, v.Bound())
	}
	for i := range v.nboxes {
		dst = append(dst, boxAt(v.b, v.boxes+i*boxBytes))
	}
	return dst
}

// Properties returns the text of a JSON object, nil for null.
func (v *View) Properties() []byte {
	if len(v.b) == 0 || v.b[3]&flagProperties == 0 {
		return nil
	}
	return v.b[v.properties:]
}

func (v *View) vertex(i int) (x, y float64) {
	c := v.b[v.vertices+i*vertexBytes:][:vertexBytes]
	return math.Float64frombits(binary.LittleEndian.Uint64(c)),
		math.Float64frombits(binary.LittleEndian.Uint64(c[8:]))
}

// path is one run of vertices. The zero path stands before the first.
type path struct {
	index  int // from 1
	kind   kind
	first  int // vertices
	end    int
	chunk  int // the first
	chunks int // 0 if there are none
}

// next steps to the path after p.
func (v *View) next(p *path) bool {
	if p.index == v.npaths || v.steps.ended() {
		return false
	}
	p.index++
	p.first = p.end
	p.chunk += p.chunks
	if v.typ == Point {
		p.kind, p.end = points, 1
		return true
	}
	off := v.paths + (p.index-1)*pathBytes
	word := u32(v.b, off+4)
	p.kind, p.end = kind(word&7), u32(v.b, off)
	p.chunks = word>>3 - p.chunk
	return true
}

// pieces returns into how many runs of edges p is divided: its chunks, or 1.
func (p *path) pieces() int { return max(1, p.chunks) }

// piece returns the i-th run of edges of p: those from vertex first to end-1
// and its box. For points it is the points first to end, including the last.
func (v *View) piece(p *path, i int) (first, last int, box Box) {
	if !v.steps.count(1) {
		return p.first, p.first, emptyBox()
	}
	first, last = p.first, p.end-1
	if p.chunks > 0 {
		box = boxAt(v.b, v.chunks+(p.chunk+i)*boxBytes)
		first += i * chunkEdges
		if p.kind == points {
			last = min(last, first+chunkEdges-1)
		} else {
			last = min(last, first+chunkEdges)
		}
		return first, last, box
	}
	return first, last, v.Bound()
}

// NumBoxes returns the number of Boxes.
func (v *View) NumBoxes() int {
	if v.typ == None {
		return 0
	}
	return max(1, v.nboxes)
}

// Several reports whether there is more than one of the Boxes.
func (v *View) Several() bool { return v.nboxes > 1 }
