package places

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/places/input"
)

// decodeFeature makes a place of a GeoJSON Feature, or of a geometry, which is
// a feature without properties. id names the property that holds the id; if empty,
// the feature's own id counts. It keeps no part of raw. It decodes all GeoJSON.
func decodeFeature(raw []byte, id string) (Place, error) {
	if !utf8.Valid(raw) {
		return Place{}, fmt.Errorf("%w: the text is not UTF-8", input.ErrSyntax)
	}
	f, err := cutFeature(raw)
	if err != nil {
		return Place{}, err
	}
	if f.Type != "Feature" {
		if id != "" {
			return Place{}, fmt.Errorf("%w: a geometry has no property %s to be its id",
				input.ErrSyntax, input.Quote(id))
		}
		var p Place
		err := p.decodeGeometry(raw)
		return p, err
	}
	var p Place
	if !null(f.Geometry) {
		if err = p.decodeGeometry(f.Geometry); err != nil {
			return Place{}, err
		}
	}
	if !null(f.Properties) {
		if f.Properties[0] != '{' {
			return Place{}, fmt.Errorf("%w: properties are %s, want an object or null",
				input.ErrSyntax, input.Quote(f.Properties))
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, f.Properties); err != nil {
			return Place{}, fmt.Errorf("%w: %w", input.ErrSyntax, err)
		}
		p.Properties = compact.Bytes()
	}
	if id != "" {
		p.ID, err = propertyID(p.Properties, id)
	} else if !null(f.ID) {
		p.ID, err = idText(f.ID)
	}
	return p, err
}

// rawFeature has the members of a GeoJSON Feature, still encoded. Any other Type is
// that of a geometry.
type rawFeature struct {
	Type                     string
	ID, Geometry, Properties json.RawMessage
}

func cutFeature(raw []byte) (f rawFeature, err error) {
	if raw[0] != '{' {
		return f, fmt.Errorf("%w: %s, want an object", input.ErrSyntax, input.Quote(raw))
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, fmt.Errorf("%w: %w", input.ErrSyntax, err)
	}
	return f, nil
}

func null(raw json.RawMessage) bool { return raw == nil || string(raw) == "null" }

// propertyID returns the property of this name as an id.
func propertyID(properties json.RawMessage, name string) (string, error) {
	id, found := "", false
	// One member at a time: a map would use far more memory than the text.
	err := eachProperty(properties, func(key string, value json.RawMessage) (err error) {
		if key == name && !null(value) {
			id, err = idText(value)
			found = true
		}
		return err
	})
	if err == nil && !found {
		err = noID(name)
	}
	return id, err
}

func noID(name string) error {
	return fmt.Errorf("%w: no property %s to be the id", input.ErrSyntax, input.Quote(name))
}

// idText returns a string, or the digits of a number exactly as written: an id
// of 64 bits stays unchanged.
func idText(raw json.RawMessage) (string, error) {
	switch c := raw[0]; {
	case c == '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return "", fmt.Errorf("%w: %w", input.ErrSyntax, err)
		}
		return s, nil
	case c == '-' || '0' <= c && c <= '9':
		return string(raw), nil
	}
	return "", fmt.Errorf("%w: id %s, want text or a number", input.ErrSyntax, input.Quote(raw))
}

// maxCollections bounds the nesting of GeometryCollections: RFC 7946, section
// 3.1.8, advises against any nesting, and each level costs a scan of its content.
const maxCollections = 8

func (p *Place) decodeGeometry(raw []byte) (err error) {
	var to altitudes
	if p.Geometry, err = decodeGeometry(raw, 0, &to, false); err == nil {
		p.Altitudes, err = to.of(to.read)
	}
	return err
}

// decodeGeometry returns nil for a geometry without any position. If loose, lines may be
// too short, and rings open: they have a bound.
func decodeGeometry(raw []byte, level int, to *altitudes, loose bool) (orb.Geometry, error) {
	var g struct {
		Type        string
		Coordinates json.RawMessage
		Geometries  json.RawMessage
	}
	if err := json.Unmarshal(raw, &g); err != nil {
		return nil, fmt.Errorf("%w: %w", input.ErrSyntax, err)
	}
	if g.Type != "GeometryCollection" {
		return decodeCoordinates(g.Type, g.Coordinates, to, loose)
	}
	if level == maxCollections {
		return nil, fmt.Errorf("%w: GeometryCollections nested deeper than %d",
			input.ErrUnsupported, maxCollections)
	}
	var all orb.Collection
	dec := json.NewDecoder(bytes.NewReader(g.Geometries))
	if open, err := dec.Token(); err != nil || open != json.Delim('[') {
		return nil, fmt.Errorf("%w: geometries are %s, want an array",
			input.ErrSyntax, input.Quote(g.Geometries))
	}
	for dec.More() {
		var part json.RawMessage
		if err := dec.Decode(&part); err != nil {
			return nil, fmt.Errorf("%w: %w", input.ErrSyntax, err)
		}
		one, err := decodeGeometry(part, level+1, to, loose)
		if err != nil {
			return nil, err
		}
		if one != nil {
			all = append(all, one)
		}
	}
	if all == nil {
		return nil, nil
	}
	return all, nil
}
