package datasets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/catfish-index/catfish/rstar"
)

// GeoJSON (RFC 7946)
//
// The input is a sequence of texts, each a FeatureCollection, a Feature or a
// geometry: a plain file has one, a text sequence (RFC 8142) puts a record
// separator before each, a newline-delimited file has one per line. One
// reader handles all three, because white space and separators between texts
// carry no meaning. A collection is streamed: one feature is in memory at a
// time, not the file.
//
// An item is the box of a feature's geometry in the coordinates given
// (longitude, latitude). A box across the antimeridian is as wide as its
// coordinates say: RFC 7946, section 3.1.9, asks for geometries that are cut
// there. Features without a position (geometry null) are skipped and counted.
//
// Ids: the feature's id, or else its property id. If these are integers from
// 0 to 2^64-1 they are kept; if there are none, or text, features are
// numbered from 0, not counting the skipped ones, and text is passed to
// Options.Label. A file must do one or the other throughout, because a number
// could collide with an id that comes later.

// recordSeparator starts each text of RFC 8142. It cannot occur within
// JSON: control characters in strings must be escaped.
const recordSeparator = 0x1e

type geoJSONReader struct {
	*pass
	dec   *json.Decoder
	label func(id uint64, name string)
	ids   idKind
	next  uint64 // running number
}

// idKind is the source of a file's ids.
type idKind int

const (
	idsUndecided idKind = iota
	idsKept
	idsNumbered
)

func readGeoJSON(p *pass, r io.Reader, label func(uint64, string)) error {
	filter := &separatorFilter{r: r, most: min(maxFeatureBytes, p.memoryLimit())}
	g := &geoJSONReader{pass: p, dec: json.NewDecoder(filter), label: label}
	filter.taken = g.dec.InputOffset
	for n := 0; ; n++ {
		err := g.text()
		if err == io.EOF && n > 0 {
			return nil
		}
		if err == io.EOF {
			err = fmt.Errorf("%w: no GeoJSON text", ErrTruncated)
		}
		if err != nil {
			return p.fail(0, g.dec.InputOffset(), syntax(err))
		}
	}
}

// place adds the start of a feature to its error; the decoder has read past
// it. Errors of the decoder itself have the decoder's position.
func (g *geoJSONReader) place(start int64, err error) error {
	if err == nil {
		return nil
	}
	return g.fail(0, start, syntax(err))
}

// syntax wraps errors of the JSON packages in one of our types.
func syntax(err error) error {
	var bad *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	var placed *ReadError
	switch {
	case errors.As(err, &placed):
		return err // Already converted.
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the JSON text ends too early", ErrTruncated)
	case errors.As(err, &wrong) && wrong.Type.Kind() == reflect.Float64:
		return fmt.Errorf("%w: %s, want a finite number", ErrSyntax, wrong.Value)
	case errors.As(err, &bad), errors.As(err, &wrong):
		return fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	return err
}

// text reads one top-level object. io.EOF means that there is none; an
// input that ends within one gives io.ErrUnexpectedEOF.
func (g *geoJSONReader) text() error {
	start := g.dec.InputOffset()
	open, err := g.dec.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('{') {
		return fmt.Errorf("%w: a GeoJSON text starts with %s, want an object",
			ErrSyntax, quote(fmt.Sprint(open)))
	}
	if err := g.members(start); err == io.EOF {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	return nil
}

// members reads the rest of an object from start. "features" is streamed; the
// few members that a Feature or a geometry needs are kept.
func (g *geoJSONReader) members(start int64) error {
	kept := make(map[string]json.RawMessage, 4)
	collection := false
	for g.dec.More() {
		key, err := g.dec.Token()
		if err != nil {
			return err
		}
		if key == "features" {
			collection = true
			if err := g.features(); err != nil {
				return err
			}
			continue
		}
		var value json.RawMessage
		if err := g.dec.Decode(&value); err != nil {
			return err
		}
		switch name := key.(string); name {
		case "type", "id", "geometry", "properties", "coordinates", "geometries":
			kept[name] = value
		}
	}
	if _, err := g.dec.Token(); err != nil { // the closing brace
		return err
	}
	kind, err := typeOf(kept["type"])
	switch {
	case err != nil:
		return err
	case collection != (kind == "FeatureCollection"):
		return fmt.Errorf("%w: type %s does not go with the member features",
			ErrSyntax, quote(kind))
	case collection:
		return nil
	case kind == "Feature":
		return g.place(start, g.feature(feature{kept["id"], kept["geometry"], kept["properties"]}))
	}
	// Any other type must be a geometry.
	geometry, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return g.place(start, g.feature(feature{geometry: geometry}))
}

func typeOf(raw json.RawMessage) (string, error) {
	var kind string
	if raw == nil {
		return "", fmt.Errorf("%w: an object without a type", ErrSyntax)
	}
	return kind, json.Unmarshal(raw, &kind)
}

// features reads the array of a FeatureCollection.
func (g *geoJSONReader) features() error {
	open, err := g.dec.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('[') {
		return fmt.Errorf("%w: features is %s, want an array",
			ErrSyntax, quote(fmt.Sprint(open)))
	}
	for g.dec.More() {
		var f struct {
			Type       string
			ID         json.RawMessage
			Geometry   json.RawMessage
			Properties json.RawMessage
		}
		start := g.dec.InputOffset()
		if err := g.dec.Decode(&f); err != nil {
			return err
		}
		if f.Type != "Feature" {
			return g.place(start, fmt.Errorf("%w: type %s in features, want Feature",
				ErrSyntax, quote(f.Type)))
		}
		if err := g.place(start, g.feature(feature{f.ID, f.Geometry, f.Properties})); err != nil {
			return err
		}
	}
	_, err = g.dec.Token() // the closing bracket
	return err
}

// feature holds what an item is made from, still encoded.
type feature struct{ id, geometry, properties json.RawMessage }

func (g *geoJSONReader) feature(f feature) error {
	if f.geometry == nil || string(f.geometry) == "null" {
		g.src.skipped.Add(1)
		return nil
	}
	bound, ok, err := geometryBound(f.geometry, 0)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%w: a geometry without coordinates", ErrSyntax)
	}
	id, name, err := g.identify(f)
	if err != nil {
		return err
	}
	if name != "" && g.label != nil {
		g.label(id, name)
	}
	return g.emit(rstar.Rect{
		MinX: bound.Min[0], MinY: bound.Min[1],
		MaxX: bound.Max[0], MaxY: bound.Max[1],
	}, id)
}

// identify returns the item's id, and its name if that is text.
func (g *geoJSONReader) identify(f feature) (id uint64, name string, err error) {
	raw := f.id
	if raw == nil && f.properties != nil {
		var p struct{ ID json.RawMessage }
		if err := json.Unmarshal(f.properties, &p); err != nil {
			return 0, "", err
		}
		raw = p.ID
	}
	kind := idsNumbered
	switch {
	case raw == nil, string(raw) == "null":
	case raw[0] == '"':
		if err := json.Unmarshal(raw, &name); err != nil {
			return 0, "", err
		}
	default:
		id, err = strconv.ParseUint(string(raw), 10, 64)
		if err != nil {
			return 0, "", fmt.Errorf("%w: id %s, want text or an integer from 0 to 2^64-1",
				ErrSyntax, quote(string(raw)))
		}
		kind = idsKept
	}
	if g.ids == idsUndecided {
		g.ids = kind
	}
	if g.ids != kind {
		return 0, "", fmt.Errorf("%w: some features have an integer id and some not;"+
			" want all or none, id is %s", ErrSyntax, quote(string(raw)))
	}
	if kind == idsNumbered {
		id = g.next
		g.next++
	}
	return id, name, nil
}

// separatorFilter turns record separators into line ends, and a byte order mark
// at the start into blanks. It ends when more than most bytes are read and not
// taken by the decoder, which keeps an incomplete value.
type separatorFilter struct {
	r       io.Reader
	most    int64
	taken   func() int64
	read    int64
	started bool
}

func (f *separatorFilter) Read(b []byte) (int, error) {
	if f.read-f.taken() > f.most {
		return 0, fmt.Errorf("%w: a feature, or another value, of more than %d bytes",
			ErrTooLarge, f.most)
	}
	n, err := f.r.Read(b)
	f.read += int64(n)
	for i := 0; ; i++ {
		j := bytes.IndexByte(b[i:n], recordSeparator)
		if j < 0 {
			break
		}
		i += j
		b[i] = '\n'
	}
	if n > 0 && !f.started {
		f.started = true
		if bytes.HasPrefix(b[:n], byteOrderMark) {
			copy(b, "   ")
		}
	}
	return n, err
}
