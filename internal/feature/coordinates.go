package feature

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/paulmach/orb"
)

// decoder builds geometries. Its errors begin with the rest of a path, such
// as ".coordinates[3]: ".
type decoder struct {
	scanner
	positions int // how many more are allowed
	// read counts the positions of the geometry. z has an altitude for each,
	// once one of them had one.
	read int
	z    []float64
}

// back discards all but the first read positions, whose text is then read again.
func (d *decoder) back(read int) {
	d.read = read
	if d.z != nil {
		d.z = d.z[:read]
	}
}

func validUTF8(s string) bool { return utf8.ValidString(s) }

func (d *decoder) typeName() (string, error) {
	if d.peek() != '"' {
		return "", d.fail("%s, want a string for type", d.found())
	}
	t, err := d.text()
	if err != nil {
		return "", err
	}
	// The usual ones without an allocation.
	switch string(t) {
	case `"Feature"`:
		return "Feature", nil
	case `"Point"`:
		return "Point", nil
	}
	return unquote(t), nil
}

// geometry takes a geometry object or null. The type may come after the
// coordinates, which are then scanned twice.
func (d *decoder) geometry(depth int) (orb.Geometry, error) {
	if d.peek() == 'n' {
		return nil, prefix("", d.literal("null"))
	}
	if depth > MaxDepth {
		return nil, fmt.Errorf(": %w: geometry collections nest deeper than %d",
			ErrTooLarge, MaxDepth)
	}
	if err := d.open('{', "an object or null"); err != nil {
		return nil, prefix("", err)
	}
	var g orb.Geometry
	typ, coordinates, geometries, done := "", -1, -1, false
	begin := d.read
	for n := 0; ; n++ {
		more, err := d.more(n, '}')
		if err != nil {
			return nil, prefix("", err)
		}
		if !more {
			break
		}
		name, err := d.key()
		if err != nil {
			return nil, prefix("", err)
		}
		switch string(name) {
		case `"type"`:
			typ, err = d.typeName()
			done = false
			err = prefix(".type", err)
		case `"coordinates"`:
			d.peek()
			coordinates, done = d.i, false
			d.back(begin)
			if typ == "" || typ == "GeometryCollection" {
				_, err = d.value()
				err = prefix(".coordinates", err)
				break
			}
			done = true
			g, err = d.coordinates(typ)
		case `"geometries"`:
			d.peek()
			geometries = d.i
			_, err = d.value()
			err = prefix(".geometries", err)
		default:
			_, err = d.value()
			err = prefix("", err)
		}
		if err != nil {
			return nil, err
		}
	}
	if done && typ != "GeometryCollection" {
		return g, nil
	}
	d.back(begin)
	return d.late(typ, coordinates, geometries, depth)
}

// late returns to members that could not be read before the type was known.
func (d *decoder) late(typ string, coordinates, geometries, depth int) (g orb.Geometry, err error) {
	after := d.i
	switch {
	case typ == "":
		return nil, fmt.Errorf(": %w: no type", ErrSyntax)
	case typ == "GeometryCollection" && geometries >= 0:
		d.i = geometries
		g, err = d.geometries(depth)
	case typ == "GeometryCollection":
		return nil, fmt.Errorf(": %w: a GeometryCollection without geometries", ErrSyntax)
	case coordinates < 0:
		return nil, fmt.Errorf(": %w: a geometry of type %.40q without coordinates",
			ErrSyntax, typ)
	default:
		d.i = coordinates
		g, err = d.coordinates(typ)
	}
	if err == nil {
		d.i = after
	}
	return g, err
}

func (d *decoder) geometries(depth int) (orb.Geometry, error) {
	c := orb.Collection{}
	err := d.array(".geometries", func(i int) error {
		g, err := d.geometry(depth + 1)
		if err != nil {
			return fmt.Errorf(".geometries[%d]%w", i, err)
		}
		c = append(c, g)
		return nil
	})
	return c, err
}

// coordinates takes the coordinates of a geometry of type typ.
func (d *decoder) coordinates(typ string) (g orb.Geometry, err error) {
	const at = ".coordinates"
	switch typ {
	case "Point":
		if d.empty() {
			return orb.MultiPoint{}, nil
		}
		var p orb.Point
		p, err = d.position()
		return p, prefix(at, err)
	case "MultiPoint":
		var m []orb.Point
		m, err = d.line(at)
		g = orb.MultiPoint(m)
	case "LineString":
		var l []orb.Point
		l, err = d.line(at)
		g = orb.LineString(l)
	case "MultiLineString":
		m := orb.MultiLineString{}
		err = d.array(at, func(i int) error {
			l, err := d.line("")
			m = append(m, l)
			return within(at, i, err)
		})
		g = m
	case "Polygon":
		g, err = d.polygon(at)
	case "MultiPolygon":
		m := orb.MultiPolygon{}
		err = d.array(at, func(i int) error {
			p, err := d.polygon("")
			m = append(m, p)
			return within(at, i, err)
		})
		g = m
	default:
		err = fmt.Errorf(".type: %w: %.40q is no type of geometry", ErrSyntax, typ)
	}
	return g, err
}

// empty takes "[]", which some programs write for a point without a position.
func (d *decoder) empty() bool {
	if d.peek() != '[' {
		return false
	}
	start := d.i
	d.i++
	if d.peek() == ']' {
		d.i++
		return true
	}
	d.i = start
	return false
}

func (d *decoder) polygon(at string) (orb.Polygon, error) {
	p := orb.Polygon{}
	err := d.array(at, func(i int) error {
		r, err := d.line("")
		p = append(p, r)
		return within(at, i, err)
	})
	return p, err
}

func (d *decoder) line(at string) ([]orb.Point, error) {
	var line []orb.Point
	if err := d.open('[', "an array of positions"); err != nil {
		return nil, prefix(at, err)
	}
	for n := 0; ; n++ {
		more, err := d.more(n, ']')
		if err != nil || !more {
			return line, prefix(at, err)
		}
		p, err := d.position()
		if err != nil {
			return nil, within(at, n, prefix("", err))
		}
		line = append(line, p)
	}
}

// array calls f before each element. f's errors have their path already.
func (d *decoder) array(at string, f func(i int) error) error {
	if err := d.open('[', "an array"); err != nil {
		return prefix(at, err)
	}
	for n := 0; ; n++ {
		more, err := d.more(n, ']')
		if err != nil || !more {
			return prefix(at, err)
		}
		if err := f(n); err != nil {
			return err
		}
	}
}

// position takes two numbers and an altitude, and drops further ones, as RFC 7946 advises.
func (d *decoder) position() (p orb.Point, err error) {
	altitude := math.NaN()
	if d.positions--; d.positions < 0 {
		return p, fmt.Errorf("%w: too many positions", ErrTooLarge)
	}
	if err := d.open('[', "a position: [x, y]"); err != nil {
		return p, err
	}
	for n := 0; ; n++ {
		more, err := d.more(n, ']')
		if err != nil {
			return p, err
		}
		if !more {
			if n < 2 {
				return p, d.fail("a position of %d numbers, want 2", n)
			}
			d.keep(altitude)
			return p, nil
		}
		d.peek()
		t, err := d.number()
		if err != nil {
			return p, err
		}
		if n > 2 {
			continue
		}
		// The string lives only during the call; ParseFloat's errors,
		// which would keep it, are dropped.
		v, err := strconv.ParseFloat(unsafe.String(&t[0], len(t)), 64)
		if err != nil {
			return p, d.fail("%.40s is no finite float64", t)
		}
		if n < 2 {
			p[n] = v
		} else {
			altitude = v
		}
	}
}

// keep stores the altitude of the position that was read, NaN for none.
func (d *decoder) keep(altitude float64) {
	if d.z == nil && !math.IsNaN(altitude) {
		for range d.read {
			d.z = append(d.z, math.NaN())
		}
	}
	if d.read++; d.z != nil || !math.IsNaN(altitude) {
		d.z = append(d.z, altitude)
	}
}

// prefix puts a path before an error that has none.
func prefix(at string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", at, err)
}

// within puts a path and an index before the rest of a path.
func within(at string, i int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s[%d]%w", at, i, err)
}
