package feature

import (
	"fmt"

	"github.com/paulmach/orb"
)

// flat is a geometry in the form of the layout: one list of paths.
type flat struct {
	typ      Type
	paths    []flatPath
	members  []flatMember
	vertices []orb.Point
	z        carried
}

type flatPath struct {
	kind kind
	end  int // index of the first vertex after it
}

type flatMember struct {
	typ   Type
	count int
}

// flatten lists the paths of g. Empty parts are left out, and a geometry
// without any position gives type None. Either each position has an altitude,
// or none has.
func flatten(g orb.Geometry, altitudes []float64) (flat, error) {
	f := flat{z: carried{on: altitudes != nil, left: altitudes}}
	err := f.add(g, 0)
	if err == nil && len(f.paths) == 0 {
		return flat{}, nil
	}
	return f, err
}

func (f *flat) add(g orb.Geometry, depth int) error {
	before, slot := len(f.paths), len(f.members)
	if depth > 0 {
		f.members = append(f.members, flatMember{})
	}
	t, children := None, 0
	switch g := g.(type) {
	case nil:
	case orb.Point:
		t = Point
		f.path(points, orb.MultiPoint{g})
	case orb.MultiPoint:
		t = MultiPoint
		f.path(points, g)
	case orb.LineString:
		t = LineString
		f.path(line, g)
	case orb.MultiLineString:
		t = MultiLineString
		for _, l := range g {
			f.path(line, l)
		}
	case orb.Ring:
		t = Polygon
		f.path(shell, g)
	case orb.Bound:
		t = Polygon
		f.path(shell, g.ToRing())
	case orb.Polygon:
		t = Polygon
		f.polygon(g)
	case orb.MultiPolygon:
		t = MultiPolygon
		for _, p := range g {
			f.polygon(p)
		}
	case orb.Collection:
		if depth >= MaxDepth {
			return fmt.Errorf("%w: geometry collections nest deeper than %d",
				ErrTooLarge, MaxDepth)
		}
		t = GeometryCollection
		for _, member := range g {
			n := len(f.members)
			if err := f.add(member, depth+1); err != nil {
				return err
			}
			if len(f.members) > n {
				children++
			}
		}
	default:
		return fmt.Errorf("%w: type %T", ErrInvalidGeometry, g)
	}
	switch {
	case depth == 0:
		f.typ = t
	case len(f.paths) == before:
		f.members = f.members[:slot]
	case t == GeometryCollection:
		f.members[slot] = flatMember{t, children}
	default:
		f.members[slot] = flatMember{t, len(f.paths) - before}
	}
	return nil
}

func (f *flat) path(k kind, vertices []orb.Point) {
	f.z.keep(f.z.take(len(vertices))...)
	if len(vertices) > 0 {
		f.vertices = append(f.vertices, vertices...)
		f.paths = append(f.paths, flatPath{k, len(f.vertices)})
	}
}

// polygon leaves out holes that have no shell.
func (f *flat) polygon(p orb.Polygon) {
	k := shell
	for _, r := range p {
		if k == shell && len(r) == 0 {
			f.z.take(positionsOf(p, 0))
			return
		}
		f.path(k, r)
		k = hole
	}
}

// check checks what the layout and the tests rely on.
func (f *flat) check() error {
	if len(f.vertices) > maxVertices {
		return fmt.Errorf("%w: %d positions, at most %d",
			ErrTooLarge, len(f.vertices), maxVertices)
	}
	first := 0
	for i, p := range f.paths {
		v := f.vertices[first:p.end]
		for j, c := range v {
			if !finite(c[0]) || !finite(c[1]) {
				return fmt.Errorf("%w: path %d, position %d is (%v, %v)",
					ErrRange, i, j, c[0], c[1])
			}
		}
		if err := checkPath(p.kind, v); err != nil {
			return fmt.Errorf("path %d: %w", i, err)
		}
		first = p.end
	}
	return nil
}

// checkPath checks the number of positions, and that rings are closed.
func checkPath(k kind, v []orb.Point) error {
	switch {
	case k == line && len(v) < 2:
		return fmt.Errorf("%w: a line of %d positions, want at least 2",
			ErrInvalidGeometry, len(v))
	case k < shell:
	case v[0] != v[len(v)-1]:
		return fmt.Errorf("%w: the ring is not closed: its last position %v "+
			"must repeat the first %v", ErrInvalidGeometry, v[len(v)-1], v[0])
	case len(v) < 4:
		return fmt.Errorf("%w: a ring of %d positions, want at least 4",
			ErrInvalidGeometry, len(v))
	}
	return nil
}
