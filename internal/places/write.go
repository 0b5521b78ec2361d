package places

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/places/input"
)

// WriteOptions say how to write CSV; with the zero value the first places decide.
type WriteOptions struct {
	// Columns are the properties to write, in this order, and no others.
	// Empty: those of the first 1,000 places; then a later place with another
	// one is an error, unless it is one of Later.
	Columns []string
	// WKT writes geometries as text in a column wkt, which suits any geometry,
	// instead of lon and lat. Without WKT they are written so if one of the first
	// 1,000 places is no point or has an altitude, or if Later says so.
	WKT bool
	// LonLat writes lon and lat, whatever the first places are: altitudes are left
	// out, and a geometry that is no point is an error.
	LonLat bool
	// Later describes the places after the first 1,000. It only matters if they
	// exist.
	Later Later
}

// Later describes columns and geometries of places that the first ones do not have.
type Later struct {
	Columns []string // properties, whose columns are the last ones, in this order
	Shapes  bool     // geometries that are no points
}

// Write writes places as GeoJSON, GeoJSONSeq (a feature a line) or CSV, one by one, and
// returns their number. It returns an error of the places after it wrote the preceding
// ones; a GeoJSON collection is then left open, so that no reader takes it for a complete
// one.
//
// GeoJSON keeps everything. CSV keeps geometries with their altitudes, and the values of
// numbers, booleans and text; null and empty text are empty fields; objects and lists are
// written as JSON. Read again, all but numbers is text.
func Write(w io.Writer, f Format, all iter.Seq2[Place, error], opts WriteOptions) (n int64, err error) {
	out := bufio.NewWriterSize(w, bufferBytes)
	switch f {
	case GeoJSON, GeoJSONSeq:
		n, err = writeGeoJSON(out, f, all)
	case CSV:
		if opts.WKT && opts.LonLat {
			return 0, fmt.Errorf("places: %w: WKT and LonLat are both given, want one", input.ErrOption)
		}
		n, err = writeCSV(out, all, opts)
	default:
		return 0, fmt.Errorf("places: %w: writing format %s, want one of %s, %s, %s",
			input.ErrUnsupported, input.Quote(f), GeoJSON, GeoJSONSeq, CSV)
	}
	if failed := out.Flush(); err == nil && failed != nil {
		err = fmt.Errorf("places: writing: %w", failed)
	}
	return n, err
}

func writeGeoJSON(out *bufio.Writer, f Format, all iter.Seq2[Place, error]) (n int64, err error) {
	before, between, after := "", "\n", "\n"
	if f == GeoJSON {
		before, between, after = `{"type":"FeatureCollection","features":[`+"\n", ",\n", "\n]}\n"
	}
	_, _ = out.WriteString(before) // a bufio.Writer keeps its error for Flush
	var text []byte
	for p, err := range all {
		if err != nil {
			return n, err
		}
		text = text[:0]
		if n > 0 {
			text = append(text, between...)
		}
		if text, err = AppendFeature(text, p); err != nil {
			return n, fmt.Errorf("places: writing place %d, id %s: %w", n+1, input.Quote(p.ID), err)
		}
		if _, err := out.Write(text); err != nil {
			return n, fmt.Errorf("places: writing: %w", err)
		}
		n++
	}
	if n > 0 || f == GeoJSON {
		_, _ = out.WriteString(after)
	}
	return n, nil
}

// AppendFeature appends a place as a GeoJSON Feature, in one line.
func AppendFeature(dst []byte, p Place) ([]byte, error) {
	dst = append(dst, `{"type":"Feature"`...)
	if p.ID != "" {
		dst = appendString(append(dst, `,"id":`...), p.ID)
	}
	dst = append(dst, `,"geometry":`...)
	dst, err := p.appendGeometry(dst)
	if err != nil {
		return dst, err
	}
	dst = append(dst, `,"properties":`...)
	if p.Properties == nil {
		return append(dst, "null}"...), nil
	}
	var compact bytes.Buffer // line ends would end the feature's line
	if err := json.Compact(&compact, p.Properties); err != nil || compact.Bytes()[0] != '{' {
		return dst, fmt.Errorf("%w: properties %s, want a JSON object",
			input.ErrSyntax, input.Quote(p.Properties))
	}
	return append(append(dst, compact.Bytes()...), '}'), nil
}

// appendGeometry appends the geometry with its altitudes.
func (p *Place) appendGeometry(dst []byte) ([]byte, error) {
	w := geometryWriter{z: p.Altitudes, high: p.Altitudes != nil}
	dst, err := w.geometry(dst, p.Geometry)
	if err == nil && (w.short || len(w.z) > 0) {
		err = fmt.Errorf("%w: %d altitudes, want one for each position", input.ErrOption, len(p.Altitudes))
	}
	return dst, err
}

// geometryWriter writes positions with z, the altitudes of the remaining positions.
type geometryWriter struct {
	z     []float64
	high  bool // altitudes exist
	short bool // there were too few altitudes
}

func (w *geometryWriter) geometry(dst []byte, g orb.Geometry) ([]byte, error) {
	if g == nil {
		return append(dst, "null"...), nil
	}
	dst = append(append(append(dst, `{"type":"`...), g.GeoJSONType()...), '"')
	c, ok := g.(orb.Collection)
	if !ok {
		dst, err := w.coordinates(append(dst, `,"coordinates":`...), g)
		return append(dst, '}'), err
	}
	dst, err := appendList(append(dst, `,"geometries":`...), c, w.geometry)
	return append(dst, '}'), err
}

func (w *geometryWriter) coordinates(dst []byte, g orb.Geometry) ([]byte, error) {
	switch g := g.(type) {
	case orb.Point:
		return w.point(dst, g)
	case orb.MultiPoint:
		return appendList(dst, g, w.point)
	case orb.LineString:
		return appendList(dst, g, w.point)
	case orb.Ring:
		return appendList(dst, g, w.point)
	case orb.MultiLineString:
		return appendList(dst, g, func(dst []byte, l orb.LineString) ([]byte, error) {
			return w.coordinates(dst, l)
		})
	case orb.Polygon:
		return appendList(dst, g, func(dst []byte, r orb.Ring) ([]byte, error) {
			return w.coordinates(dst, r)
		})
	case orb.MultiPolygon:
		return appendList(dst, g, func(dst []byte, p orb.Polygon) ([]byte, error) {
			return w.coordinates(dst, p)
		})
	}
	return dst, fmt.Errorf("%w: a geometry of type %T", input.ErrUnsupported, g)
}

func appendList[E any](dst []byte, all []E, one func([]byte, E) ([]byte, error)) ([]byte, error) {
	dst = append(dst, '[')
	for i, e := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = one(dst, e); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func (w *geometryWriter) point(dst []byte, p orb.Point) ([]byte, error) {
	for i, v := range p {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return dst, fmt.Errorf("%w: coordinate %v, want a finite number", input.ErrSyntax, v)
		}
		dst = append(dst, "[,"[i])
		dst = strconv.AppendFloat(dst, v, 'f', -1, 64)
	}
	if !w.high {
		return append(dst, ']'), nil
	}
	if len(w.z) == 0 {
		w.short = true
		return dst, nil
	}
	z := w.z[0]
	w.z = w.z[1:]
	if math.IsInf(z, 0) {
		return dst, fmt.Errorf("%w: altitude %v, want a finite number", input.ErrSyntax, z)
	}
	if !math.IsNaN(z) { // a position with an altitude
		dst = strconv.AppendFloat(append(dst, ','), z, 'f', -1, 64)
	}
	return append(dst, ']'), nil
}
