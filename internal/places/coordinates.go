package places

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/places/input"
)

// decodeCoordinates reads the coordinates of a geometry other than a collection:
// brackets, as deep as the type requires, around positions of two numbers or more;
// the third is the altitude. raw is valid JSON, or absent. encoding/json would read
// a missing number as 0 and ignore a third one. An empty array within raw is a part
// without positions, which is dropped; if no part is left, the geometry is nil.
func decodeCoordinates(kind string, raw []byte, to *altitudes, loose bool) (orb.Geometry, error) {
	if raw == nil {
		return nil, fmt.Errorf("%w: %s without coordinates", input.ErrSyntax, input.Quote(kind))
	}
	c := &coordinates{b: raw, to: to, loose: loose}
	var g orb.Geometry
	switch kind {
	case "Point":
		if !c.empty() {
			g = c.position()
		}
	case "MultiPoint":
		g = unlessEmpty(orb.MultiPoint(c.positions()))
	case "LineString":
		g = unlessEmpty(c.line())
	case "MultiLineString":
		g = unlessEmpty(orb.MultiLineString(list(c, (*coordinates).line)))
	case "Polygon":
		g = unlessEmpty(c.polygon())
	case "MultiPolygon":
		g = unlessEmpty(orb.MultiPolygon(list(c, (*coordinates).polygon)))
	default:
		return nil, fmt.Errorf("%w: type %s is neither FeatureCollection, Feature"+
			" nor a geometry of RFC 7946", input.ErrSyntax, input.Quote(kind))
	}
	if c.err != nil {
		return nil, fmt.Errorf("%s: %w", kind, c.err)
	}
	return g, nil
}

// unlessEmpty converts a list to an interface, and a list without elements to nil.
func unlessEmpty[E any, G interface {
	~[]E
	orb.Geometry
}](g G) orb.Geometry {
	if len(g) == 0 {
		return nil
	}
	return g
}

// coordinates reads nested arrays. After an error its methods return zeros.
type coordinates struct {
	b     []byte
	to    *altitudes
	loose bool // see decodeGeometry
	err   error
}

// peek returns the next byte that is not white space, 0 at the end.
func (c *coordinates) peek() byte {
	c.b = bytes.TrimLeft(c.b, " \t\r\n")
	if len(c.b) == 0 || c.err != nil {
		return 0
	}
	return c.b[0]
}

func (c *coordinates) fail(want string) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: %s in coordinates, want %s", input.ErrSyntax, input.Quote(c.b), want)
	}
}

// open reads an opening bracket.
func (c *coordinates) open(of string) bool {
	if c.peek() != '[' {
		c.fail("an array of " + of)
		return false
	}
	c.b = c.b[1:]
	return true
}

// more reports whether the array has another element. It is called between elements.
func (c *coordinates) more() bool {
	switch c.peek() {
	case ',':
		c.b = c.b[1:]
		return true
	case ']':
		c.b = c.b[1:]
	case 0:
	default:
		return true // the first element
	}
	return false
}

// empty reads an array without elements, or a null.
func (c *coordinates) empty() bool {
	if c.peek() != '[' {
		return bytes.HasPrefix(c.b, []byte("null"))
	}
	rest := bytes.TrimLeft(c.b[1:], " \t\r\n")
	return len(rest) > 0 && rest[0] == ']'
}

func (c *coordinates) position() (p orb.Point) {
	if !c.open("numbers") {
		return p
	}
	n, z := 0, math.NaN()
	for ; c.more(); n++ {
		switch v := c.number(); {
		case n < len(p):
			p[n] = v
		case n == len(p):
			z = v
		}
	}
	c.to.keep(z)
	if n < len(p) && c.err == nil {
		c.err = fmt.Errorf("%w: a position with %d coordinates, want 2 or more",
			input.ErrSyntax, n)
	}
	return p
}

func (c *coordinates) number() float64 {
	c.peek()
	n := 0
	for n < len(c.b) && bytes.IndexByte(numberEnds, c.b[n]) < 0 {
		n++
	}
	v, err := strconv.ParseFloat(string(c.b[:n]), 64)
	if err != nil {
		c.fail("a finite number")
	}
	c.b = c.b[n:]
	return v
}

var numberEnds = []byte(" \t\r\n,[]{}\"")

func (c *coordinates) positions() []orb.Point {
	if bytes.Equal(c.b, []byte("null")) || !c.open("positions") {
		return nil
	}
	var all []orb.Point
	for c.more() {
		all = append(all, c.position())
	}
	return all
}

func (c *coordinates) line() orb.LineString {
	all := c.positions()
	if len(all) == 1 && !c.loose && c.err == nil {
		c.err = fmt.Errorf("%w: a line of one position, want 2 or more", input.ErrSyntax)
	}
	return all
}

func (c *coordinates) ring() orb.Ring {
	r := orb.Ring(c.positions())
	if c.err == nil && !c.loose && len(r) > 0 && (len(r) < 4 || r[0] != r[len(r)-1]) {
		c.err = fmt.Errorf("%w: a ring of %d positions from %v to %v, want 4 or more"+
			" and the last to be the first", input.ErrSyntax, len(r), r[0], r[len(r)-1])
	}
	return r
}

// polygon is empty if its outer ring is.
func (c *coordinates) polygon() orb.Polygon {
	if c.empty() {
		c.positions()
		return nil
	}
	var rings orb.Polygon
	begin := c.to.read
	if !c.open("rings") {
		return nil
	}
	for n := 0; c.more(); n++ {
		if r := c.ring(); len(r) > 0 {
			rings = append(rings, r)
		} else if n == 0 {
			c.rest()
			c.to.back(begin)
			return nil
		}
	}
	return rings
}

// rest skips the remaining elements of an array.
func (c *coordinates) rest() {
	for c.more() {
		c.ring()
	}
}

// list reads an array of parts, and drops those without positions.
func list[E any, G interface{ ~[]E }](c *coordinates, part func(*coordinates) G) []G {
	if bytes.Equal(c.b, []byte("null")) || !c.open("arrays") {
		return nil
	}
	var all []G
	for c.more() {
		if g := part(c); len(g) > 0 {
			all = append(all, g)
		}
	}
	return all
}
