package feature

import (
	"encoding/binary"
	"math"
)

// The bytes of a feature. They never change once written. All numbers are
// little-endian; offsets are from the first byte, which may lie anywhere.
//
//	 0      1      2       3       4                 8
//	| vers | type | boxes | flags | properties u32  | ...
//	  u8     u8     u8      u8      bytes
//
// No geometry (type 0): the properties follow.
//
// A point (type 1), the most frequent by far:
//
//	 8      16     24
//	| x    | y    | properties ...
//	| x    | y    | altitude | properties ...
//
// Any other type:
//
//	 8                40      44         48        52       56
//	| bound 4 x f64  | paths | vertices | members | chunks | ...
//	  min x ... max y  u32     u32        u32       u32
//	...
//	| boxes x 32 | paths x 8 | members x 8 | chunks x 32 | vertices x 16 |
//	| altitudes x 8 | properties ...
//
//	box     min x, min y, max x, max y as f64
//	path    end u32: index of the first vertex after it
//	        word u32: the first chunk after it times 8, plus the kind
//	member  type u32, count u32
//	vertex  x, y as f64
//	altitude f64, NaN for a vertex that has none
//
// A path is a run of vertices: single points, a line, or a closed ring (the
// last vertex equals the first) that is the shell of a polygon or a hole of
// the shell before it. So the tests run over one flat list, whatever the
// type. A geometry collection also has its members in preorder: the type of
// each, and how many paths it has or, for a collection, how many members.
//
// Boxes are those under which a tree holds the feature, if there are several;
// 0 stands for one, the bound.
//
// A chunk is the box of chunkEdges consecutive edges of a path (of chunkEdges
// points, if its kind is points). Tests skip chunks that cannot matter: the
// test whether a point is in a polygon of 1,000 vertices touches 30. Chunks are
// left out (0) if all vertices together fill no more than one.
//
// Coordinates are kept bit by bit. If a flag says so, each vertex has an
// altitude, in the same order. Altitudes follow everything that tests look at.

// LayoutVersion is the layout drawn above.
const LayoutVersion = 1

// Type is a GeoJSON geometry type. The numbers are those of WKB.
type Type uint8

const (
	None Type = iota // geometry null
	Point
	LineString
	Polygon
	MultiPoint
	MultiLineString
	MultiPolygon
	GeometryCollection
)

var typeNames = [...]string{
	"null", "Point", "LineString", "Polygon", "MultiPoint",
	"MultiLineString", "MultiPolygon", "GeometryCollection",
}

// String is the GeoJSON name, "null" for None.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "invalid"
}

// kind is the kind of a path.
type kind uint8

const (
	points kind = 1 + iota
	line
	shell
	hole
)

const (
	flagProperties = 1 // otherwise properties are null
	flagAltitudes  = 2 // otherwise no vertex has an altitude

	pointHeader = 24
	headBytes   = 8
	bodyBytes   = 56
	boxBytes    = 32
	pathBytes   = 8
	memberBytes = 8
	vertexBytes = 16

	altitudeBytes = 8

	// chunkEdges: see docs/decisions/geometry-libraries.md.
	chunkEdges = 32

	// MaxDepth is how deep geometry collections nest.
	MaxDepth = 8
	// maxVertices keeps all offsets within 31 bits.
	maxVertices = 1 << 26
	// maxPaths: a path has at least one vertex.
	maxPaths = 1 << 26
)

// chunksOf is the number of chunks of a path of n vertices.
func chunksOf(k kind, n int) int {
	if k != points {
		n-- // edges
	}
	return max(1, (n+chunkEdges-1)/chunkEdges)
}

func u32(b []byte, off int) int { return int(binary.LittleEndian.Uint32(b[off:])) }

func f64(b []byte, off int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(b[off:]))
}

func boxAt(b []byte, off int) Box {
	b = b[off : off+boxBytes]
	return Box{f64(b, 0), f64(b, 8), f64(b, 16), f64(b, 24)}
}

func appendF64(dst []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
}

func appendBox(dst []byte, b Box) []byte {
	dst = appendF64(appendF64(dst, b.MinX), b.MinY)
	return appendF64(appendF64(dst, b.MaxX), b.MaxY)
}
