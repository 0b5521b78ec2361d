package datasets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/paulmach/orb"
)

// maxCollections bounds the nesting of GeometryCollections. RFC 7946, section
// 3.1.8, advises against nesting them at all; each level costs another scan of
// its content.
const maxCollections = 8

// geometryBound returns the bound of a GeoJSON geometry; ok is false if
// it has no coordinates at all.
func geometryBound(raw []byte, level int) (b orb.Bound, ok bool, err error) {
	var g struct {
		Type        string
		Coordinates json.RawMessage
		Geometries  []json.RawMessage
	}
	if err := json.Unmarshal(raw, &g); err != nil {
		return b, false, err
	}
	if g.Type != "GeometryCollection" {
		return coordinatesBound(g.Type, g.Coordinates)
	}
	if level == maxCollections {
		return b, false, fmt.Errorf("%w: GeometryCollections nested deeper than %d",
			ErrUnsupported, maxCollections)
	}
	for _, part := range g.Geometries {
		pb, has, err := geometryBound(part, level+1)
		switch {
		case err != nil:
			return b, false, err
		case has && ok:
			b = b.Union(pb)
		case has:
			b, ok = pb, true
		}
	}
	return b, ok, nil
}

// decoders by geometry type: each decodes into the orb type of the right
// depth, so that a wrong depth of brackets is an error.
//
// A Polygon is read as its rings, because orb bounds a polygon by the outer
// ring alone, and a file may have holes that reach outside it.
var decoders = map[string]func(raw []byte) (orb.Bound, error){
	"Point":           decodeBound[orb.Point],
	"MultiPoint":      decodeBound[orb.MultiPoint],
	"LineString":      decodeBound[orb.LineString],
	"MultiLineString": decodeBound[orb.MultiLineString],
	"Polygon":         decodeBound[orb.MultiLineString],
	"MultiPolygon": func(raw []byte) (orb.Bound, error) {
		var polygons []orb.MultiLineString
		err := json.Unmarshal(raw, &polygons)
		return slices.Concat(polygons...).Bound(), err
	},
}

// coordinatesBound returns the bound of a geometry that is not a collection.
func coordinatesBound(kind string, raw []byte) (b orb.Bound, ok bool, err error) {
	decode, known := decoders[kind]
	if !known {
		return b, false, fmt.Errorf("%w: type %s is neither FeatureCollection, Feature"+
			" nor a geometry of RFC 7946", ErrSyntax, quote(kind))
	}
	if err := checkPositions(raw); err != nil {
		return b, false, err
	}
	b, err = decode(raw)
	return b, err == nil, err
}

func decodeBound[G orb.Geometry](raw []byte) (orb.Bound, error) {
	var g G
	if err := json.Unmarshal(raw, &g); err != nil {
		return orb.Bound{}, err
	}
	return g.Bound(), nil
}

// checkPositions checks what encoding/json accepts silently: each innermost
// array of the coordinates must be a position of two numbers or more (RFC
// 7946, section 3.1.1), where json reads a missing number or null as 0. So
// there is at least one position. raw is valid JSON.
func checkPositions(raw []byte) error {
	const maxDepth = 4 // brackets of a MultiPolygon
	var numbers [maxDepth + 1]int
	var nested [maxDepth + 1]bool
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '[':
			if depth == maxDepth {
				return fmt.Errorf("%w: coordinates nested deeper than %d brackets",
					ErrSyntax, maxDepth)
			}
			nested[depth] = true
			depth++
			numbers[depth], nested[depth] = 0, false
		case c == ']':
			if n := numbers[depth]; !nested[depth] && n < 2 || nested[depth] && n > 0 {
				return fmt.Errorf("%w: a position with %d coordinates, want 2 or more",
					ErrSyntax, n)
			}
			depth--
		case c == '-', '0' <= c && c <= '9':
			for i+1 < len(raw) && bytes.IndexByte(numberEnds, raw[i+1]) < 0 {
				i++
			}
			numbers[depth]++
		case bytes.IndexByte(numberEnds, c) < 0:
			return fmt.Errorf("%w: coordinates contain %s, want numbers",
				ErrSyntax, quote(string(raw[i:])))
		}
	}
	if !nested[0] {
		return fmt.Errorf("%w: a geometry without coordinates", ErrSyntax)
	}
	return nil
}

var numberEnds = []byte(" \t\r\n,]")
