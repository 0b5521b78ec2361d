package places

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/catfish-index/catfish/internal/places/input"
)

// GeoJSON (RFC 7946) is one text, whose features are read one by one, or many
// texts: one a line, or each after a record separator (RFC 8142). A text is a
// FeatureCollection, a Feature, or a geometry.
//
// In a file of many texts a broken one is left out. In one text a feature is
// left out if its brackets are balanced, whatever is between them; otherwise
// the start of the next feature is unknown, and reading ends.

type geoJSONSource struct {
	in *scanner
	id string // Options.ID

	anyCRS     bool
	many       bool // the input has many texts, cut at separators
	separator  byte
	texts      int
	inFeatures bool
	kind       string         // type of the current text, once it was read
	collection bool           // the current text has features
	inner      *geoJSONSource // of a collection that is one of many texts
	line, off  int64          // of the current record
}

func newGeoJSON(r *bufio.Reader, f Format, id string, anyCRS bool) *geoJSONSource {
	g := &geoJSONSource{in: newScanner(r), id: id, anyCRS: anyCRS, many: f == GeoJSONSeq, separator: '\n'}
	if c, err := g.in.skipAny(space); err == nil && c == recordSeparator {
		g.separator = recordSeparator
	}
	return g
}

func (g *geoJSONSource) next() (p Place, err error) {
	raw, err := g.nextRecord()
	if err == nil && !g.anyCRS {
		err = g.placed(crsOfFeature(raw))
	}
	if err == nil {
		if p, err = decodeFeature(raw, g.id); err != nil {
			err = badAt(g.line, g.off, err)
		}
	}
	return p, err
}

// nextRecord returns the bytes of the next feature. Its errors are placed.
func (g *geoJSONSource) nextRecord() ([]byte, error) {
	for {
		raw, err := g.record()
		if err != nil || raw != nil {
			return raw, g.placed(err)
		}
	}
}

// placed adds the position to an error that has none.
func (g *geoJSONSource) placed(err error) error {
	var at *RecordError
	if err == nil || err == io.EOF || errors.As(err, &at) {
		return err
	}
	return finalAt(g.in.line, g.in.offset, err)
}

func (g *geoJSONSource) at() (line, offset int64) { return g.line, g.off }

// record returns the bytes of the next feature, or nil if the text that it read
// has none.
func (g *geoJSONSource) record() ([]byte, error) {
	switch {
	case g.inner != nil:
		return g.within()
	case g.many:
		return g.separated()
	case g.inFeatures:
		return g.feature()
	}
	return g.text()
}

// separated reads one text of a file of many.
func (g *geoJSONSource) separated() ([]byte, error) {
	g.line, g.off = g.in.line, g.in.offset
	raw, err := g.in.until(g.separator)
	if errors.Is(err, input.ErrTooLarge) {
		return nil, badAt(g.line, g.off, err)
	}
	if err != nil {
		return nil, err
	}
	raw = bytes.Trim(raw, " \t\r\n\x1e")
	if len(raw) == 0 {
		return nil, nil
	}
	if bytes.Contains(raw, []byte("FeatureCollection")) {
		in := bufio.NewReader(bytes.NewReader(bytes.Clone(raw)))
		g.inner = &geoJSONSource{in: newScanner(in), id: g.id, anyCRS: g.anyCRS}
		return nil, nil
	}
	return raw, nil
}

// within continues in a text that is a collection, or looks like one. An error in
// it makes the text bad, but does not affect the next text.
func (g *geoJSONSource) within() ([]byte, error) {
	raw, err := g.inner.record()
	if err == nil {
		return raw, nil
	}
	g.inner = nil
	if err == io.EOF {
		return nil, nil
	}
	var foreign *ForeignError
	if errors.As(err, &foreign) {
		return nil, err // The other texts are foreign, too.
	}
	return nil, badAt(g.line, g.off, err)
}

// text reads a top-level text up to the first of its features, or completely.
func (g *geoJSONSource) text() ([]byte, error) {
	if _, err := g.in.skip(); err == io.EOF && g.texts > 0 {
		return nil, io.EOF
	}
	g.line, g.off = g.in.line, g.in.offset
	g.texts++
	g.kind, g.collection = "", false
	if _, err := g.in.expect("{"); err != nil {
		return nil, err
	}
	return g.members([]byte{'{'})
}

// members reads the remaining members of a text, and returns the text without its
// features. Of other members it keeps those that a feature needs.
func (g *geoJSONSource) members(text []byte) ([]byte, error) {
	for {
		switch c, err := g.in.skip(); {
		case err != nil:
			return nil, truncated(err)
		case c == '}' || c == ',':
			_, _ = g.in.readByte() // was just seen
			if c == '}' {
				return g.ended(append(bytes.TrimSuffix(text, []byte(",")), '}'))
			}
			continue
		case c != '"':
			return nil, fmt.Errorf("%w: %q where a member or the end of an object should be",
				input.ErrSyntax, c)
		}
		key, err := g.in.value()
		if err != nil {
			return nil, err
		}
		name := string(key)
		if _, err := g.in.expect(":"); err != nil {
			return nil, err
		}
		c, err := g.in.skip()
		if err != nil {
			return nil, truncated(err)
		}
		if name == `"features"` && c == '[' {
			_, _ = g.in.readByte() // was just seen
			g.inFeatures, g.collection = true, true
			return nil, nil
		}
		value, err := g.in.value()
		if err != nil {
			return nil, err
		}
		switch name {
		case `"type"`:
			if err := json.Unmarshal(value, &g.kind); err != nil {
				return nil, fmt.Errorf("%w: type %s", input.ErrSyntax, input.Quote(value))
			}
		case `"crs"`:
			if g.anyCRS {
				continue
			}
			if err := crsOfGeoJSON(value); err != nil {
				return nil, err
			}
			continue
		case `"id"`, `"geometry"`, `"properties"`, `"coordinates"`, `"geometries"`:
		default:
			continue
		}
		if len(text)+len(value) > g.in.most {
			return nil, g.in.tooLarge()
		}
		text = append(append(append(append(text, name...), ':'), value...), ',')
	}
}

// ended handles a complete text: a feature or a geometry, or a collection whose
// features were read.
func (g *geoJSONSource) ended(text []byte) ([]byte, error) {
	switch {
	case g.kind == "":
		return nil, fmt.Errorf("%w: an object without a type", input.ErrSyntax)
	case g.kind == "Topology":
		return nil, &ForeignError{Is: "a TopoJSON file"}
	case g.collection != (g.kind == "FeatureCollection"):
		return nil, fmt.Errorf("%w: type %s does not go with the member features",
			input.ErrSyntax, input.Quote(g.kind))
	case g.collection:
		return nil, nil
	}
	return text, nil
}

// feature reads the next feature of a collection.
func (g *geoJSONSource) feature() ([]byte, error) {
	for {
		c, err := g.in.skip()
		if err != nil {
			return nil, truncated(err)
		}
		switch c {
		case ',':
			_, _ = g.in.readByte() // was just seen
			continue
		case ']':
			_, _ = g.in.readByte()
			g.inFeatures = false
			return g.members([]byte{'{'})
		case '{', '[', '"':
		case '}', ':':
			return nil, fmt.Errorf("%w: %q within features", input.ErrSyntax, c)
		}
		g.line, g.off = g.in.line, g.in.offset
		return g.in.value()
	}
}
