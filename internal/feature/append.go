package feature

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/paulmach/orb"
)

// Append appends the bytes of a feature to dst. The geometry is as Decode or
// Normalise return it: Append checks only that coordinates are finite, rings
// closed, and sizes within the layout. A nil geometry, or one without any
// position, is stored as null. The properties are the text of one JSON object
// as Decode or CompactProperties return it. Append does not check them again;
// nil stands for null. For a point it allocates nothing but dst.
func Append(dst []byte, g orb.Geometry, properties []byte) ([]byte, error) {
	return AppendZ(dst, g, nil, properties)
}

// AppendZ is Append of a geometry with altitudes, as Decode or NormaliseZ return
// them.
func AppendZ(dst []byte, g orb.Geometry, altitudes []float64, properties []byte) ([]byte, error) {
	if uint64(len(properties)) > math.MaxInt32 {
		return dst, fmt.Errorf("%w: %d bytes of properties, at most %d",
			ErrTooLarge, len(properties), math.MaxInt32)
	}
	if altitudes = someAltitudes(altitudes); altitudes != nil {
		if err := checkAltitudes(g, altitudes); err != nil {
			return dst, err
		}
	}
	if p, ok := g.(orb.Point); ok {
		if !finite(p[0]) || !finite(p[1]) {
			return dst, fmt.Errorf("%w: point (%v, %v)", ErrRange, p[0], p[1])
		}
		dst = appendHead(dst, Point, 0, len(altitudes) > 0, properties)
		dst = appendF64(appendF64(dst, p[0]), p[1])
		for _, z := range altitudes {
			dst = appendAltitude(dst, z)
		}
		return append(dst, properties...), nil
	}
	f, err := flatten(g, altitudes)
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return dst, err
	}
	if f.typ == None {
		return append(appendHead(dst, None, 0, false, properties), properties...), nil
	}
	boxes := f.boxes(MaxBoxes)
	if len(boxes) == 1 {
		boxes = nil
	}
	// The remaining positions may have none.
	altitudes = someAltitudes(f.z.kept)
	dst = appendHead(dst, f.typ, len(boxes), altitudes != nil, properties)
	dst = f.appendBody(dst, boxes)
	for _, z := range altitudes {
		dst = appendAltitude(dst, z)
	}
	return append(dst, properties...), nil
}

// AppendReplacing appends the bytes of the feature with other properties, which are as
// for Append.
func (v *View) AppendReplacing(dst, properties []byte) ([]byte, error) {
	if uint64(len(properties)) > math.MaxInt32 {
		return dst, fmt.Errorf("%w: %d bytes of properties, at most %d",
			ErrTooLarge, len(properties), math.MaxInt32)
	}
	if len(v.b) == 0 {
		return append(appendHead(dst, None, 0, false, properties), properties...), nil
	}
	begin := len(dst)
	dst = append(dst, v.b[:v.properties]...)
	setProperties(dst[begin:], properties)
	return append(dst, properties...), nil
}

// setProperties sets the fields of a head that describe the properties.
func setProperties(head, properties []byte) {
	head[3] &^= flagProperties
	if properties != nil {
		head[3] |= flagProperties
	}
	binary.LittleEndian.PutUint32(head[4:], uint32(len(properties)))
}

func appendHead(dst []byte, t Type, boxes int, altitudes bool, properties []byte) []byte {
	flags := byte(0)
	if properties != nil {
		flags = flagProperties
	}
	if altitudes {
		flags |= flagAltitudes
	}
	dst = append(dst, LayoutVersion, byte(t), byte(boxes), flags)
	return binary.LittleEndian.AppendUint32(dst, uint32(len(properties)))
}

func (f *flat) appendBody(dst []byte, boxes []Box) []byte {
	le := binary.LittleEndian
	chunks := f.chunks()
	dst = appendBox(dst, boundOf(f.vertices))
	dst = le.AppendUint32(dst, uint32(len(f.paths)))
	dst = le.AppendUint32(dst, uint32(len(f.vertices)))
	dst = le.AppendUint32(dst, uint32(len(f.members)))
	dst = le.AppendUint32(dst, uint32(len(chunks)))
	for _, b := range boxes {
		dst = appendBox(dst, b)
	}
	first, chunk := 0, 0
	for _, p := range f.paths {
		if len(chunks) > 0 {
			chunk += chunksOf(p.kind, p.end-first)
		}
		dst = le.AppendUint32(dst, uint32(p.end))
		dst = le.AppendUint32(dst, uint32(chunk)<<3|uint32(p.kind))
		first = p.end
	}
	for _, m := range f.members {
		dst = le.AppendUint32(dst, uint32(m.typ))
		dst = le.AppendUint32(dst, uint32(m.count))
	}
	for _, b := range chunks {
		dst = appendBox(dst, b)
	}
	for _, v := range f.vertices {
		dst = appendF64(appendF64(dst, v[0]), v[1])
	}
	return dst
}

// chunks returns the boxes of consecutive edges, none if one would hold all.
func (f *flat) chunks() []Box {
	if len(f.vertices) <= chunkEdges+1 {
		return nil
	}
	var boxes []Box
	first := 0
	for _, p := range f.paths {
		v := f.vertices[first:p.end]
		for i := range chunksOf(p.kind, len(v)) {
			end := (i + 1) * chunkEdges
			if p.kind != points {
				end++ // the end of the last edge
			}
			boxes = append(boxes, boundOf(v[i*chunkEdges:min(end, len(v))]))
		}
		first = p.end
	}
	return boxes
}

func boundOf(vertices []orb.Point) Box {
	b := emptyBox()
	for _, v := range vertices {
		b.MinX, b.MaxX = min(b.MinX, v[0]), max(b.MaxX, v[0])
		b.MinY, b.MaxY = min(b.MinY, v[1]), max(b.MaxY, v[1])
	}
	return b
}
