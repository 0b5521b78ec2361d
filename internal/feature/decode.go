package feature

import (
	"fmt"

	"github.com/paulmach/orb"
)

// MaxIDBytes is the longest id.
const MaxIDBytes = 512

// Options of Decode, DecodeGeometry and Normalise. The zero value is usual.
type Options struct {
	Space Space
	// MaxBytes of a text. Default: 32 MiB, about 1,000,000 positions of 15
	// digits each.
	MaxBytes int
	// MaxPositions of a geometry. Default: 1,048,576.
	MaxPositions int
	// Lenient accepts rings that cross themselves, and closes open rings.
	// What lies in a ring is then decided by the even-odd rule.
	Lenient bool
	// LongEdges takes edges of more than 180 degrees as they are written,
	// through longitude 0. Otherwise they are taken to cross 180 degrees,
	// which is shorter (see Normalise).
	LongEdges bool
}

func (o Options) maxBytes() int {
	if o.MaxBytes > 0 {
		return o.MaxBytes
	}
	return 32 << 20
}

func (o Options) maxPositions() int {
	if o.MaxPositions > 0 {
		return min(o.MaxPositions, maxVertices)
	}
	return 1 << 20
}

// Feature is the content of a GeoJSON Feature.
type Feature struct {
	// ID is empty if there was none. A number becomes its text, as written.
	ID string
	// Geometry is nil for null, and normalised.
	Geometry orb.Geometry
	// Altitudes of the positions of Geometry, in the order of the text: NaN for a
	// position without one, nil if none has one. See NormaliseZ.
	Altitudes []float64
	// Empty: a geometry was given, but it has no position.
	Empty bool
	// Properties is the text of an object without white space, or nil. It
	// may alias the input.
	Properties []byte
}

// Decode reads one GeoJSON Feature (RFC 7946). It drops bounding boxes, foreign
// members, and the numbers of a position after its altitude. Of members with
// the same name the last one counts. Errors name the place, such as
//
//	geometry.coordinates[3][1]: latitude 95 is outside -90..90
func Decode(text []byte, o Options) (Feature, error) {
	var f Feature
	if len(text) > o.maxBytes() {
		return f, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(text), o.maxBytes())
	}
	d := decoder{scanner: scanner{b: text, depth: maxJSONDepth}, positions: o.maxPositions()}
	typ, err := d.feature(&f)
	if err == nil {
		err = d.end()
	}
	if err != nil {
		return Feature{}, err
	}
	if typ != "Feature" {
		return Feature{}, fmt.Errorf(`%w: type is %.40q, want "Feature"`, ErrSyntax, typ)
	}
	given := f.Geometry != nil
	if f.Geometry, f.Altitudes, err = NormaliseZ(f.Geometry, d.z, o); err != nil {
		return Feature{}, err
	}
	f.Empty = given && f.Geometry == nil
	return f, nil
}

// DecodeGeometry reads one GeoJSON geometry without its altitudes, and is
// otherwise like Decode.
func DecodeGeometry(text []byte, o Options) (orb.Geometry, error) {
	g, _, err := DecodeGeometryZ(text, o)
	return g, err
}

// DecodeGeometryZ reads one GeoJSON geometry and its altitudes, and is otherwise like
// Decode.
func DecodeGeometryZ(text []byte, o Options) (orb.Geometry, []float64, error) {
	if len(text) > o.maxBytes() {
		return nil, nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(text), o.maxBytes())
	}
	d := decoder{scanner: scanner{b: text, depth: maxJSONDepth}, positions: o.maxPositions()}
	g, err := d.geometry(0)
	if err != nil {
		return nil, nil, fmt.Errorf("geometry%w", err)
	}
	if err := d.end(); err != nil {
		return nil, nil, err
	}
	return NormaliseZ(g, d.z, o)
}

// CheckID: an id has 1 to MaxIDBytes bytes of UTF-8.
func CheckID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: the id is empty", ErrSyntax)
	case len(id) > MaxIDBytes:
		return fmt.Errorf("%w: an id of %d bytes, at most %d",
			ErrTooLarge, len(id), MaxIDBytes)
	case !validUTF8(id):
		return fmt.Errorf("%w: the id %.40q is not UTF-8", ErrSyntax, id)
	}
	return nil
}

func (d *decoder) end() error {
	if d.peek(); d.i < len(d.b) {
		return d.fail("%s after the end", d.found())
	}
	return nil
}

// feature reads the members of a Feature and returns its type.
func (d *decoder) feature(f *Feature) (typ string, err error) {
	if err := d.open('{', "an object"); err != nil {
		return "", err
	}
	for n := 0; ; n++ {
		more, err := d.more(n, '}')
		if err != nil || !more {
			return typ, err
		}
		name, err := d.key()
		if err != nil {
			return "", err
		}
		switch string(name) {
		case `"type"`:
			typ, err = d.typeName()
		case `"id"`:
			f.ID, err = d.id()
		case `"geometry"`:
			d.back(0)
			f.Geometry, err = d.geometry(0)
			if err != nil {
				err = fmt.Errorf("geometry%w", err)
			}
		case `"properties"`:
			f.Properties, err = d.scanner.properties()
		default:
			_, err = d.value()
		}
		if err != nil {
			return "", err
		}
	}
}

func (d *decoder) id() (string, error) {
	id := ""
	switch c := d.peek(); {
	case c == 'n':
		return "", d.literal("null")
	case c == '"':
		t, err := d.text()
		if err != nil {
			return "", err
		}
		id = unquote(t)
	case c == '-' || c >= '0' && c <= '9':
		t, err := d.number()
		if err != nil {
			return "", err
		}
		id = string(t)
	default:
		return "", d.fail("%s, want a string or a number for id", d.found())
	}
	return id, CheckID(id)
}
