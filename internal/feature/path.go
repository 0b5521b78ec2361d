package feature

import "github.com/paulmach/orb"

// PathKind says what the positions of a path are.
type PathKind uint8

// The kinds. A hole is one in the shell before it. Rings are closed.
const (
	PathPoints = PathKind(points)
	PathLine   = PathKind(line)
	PathShell  = PathKind(shell)
	PathHole   = PathKind(hole)
)

// Path is one run of positions of a geometry. Each geometry, also a collection,
// is a list of them. The zero Path stands before the first.
type Path struct{ p path }

// NextPath steps to the path after p, and returns false after the last.
func (v *View) NextPath(p *Path) bool { return v.next(&p.p) }

// Kind returns the kind of the path.
func (p *Path) Kind() PathKind { return PathKind(p.p.kind) }

// Len returns its number of positions.
func (p *Path) Len() int { return p.p.end - p.p.first }

// AppendPath appends the positions of a path of v. It allocates nothing but dst.
func (v *View) AppendPath(dst []orb.Point, p *Path) []orb.Point {
	for i := p.p.first; i < p.p.end; i++ {
		x, y := v.vertex(i)
		dst = append(dst, orb.Point{x, y})
	}
	return dst
}
