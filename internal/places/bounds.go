package places

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/places/input"
)

// Bound is a GeoJSON feature reduced to the bound of its geometry.
type Bound struct {
	orb.Bound
	// Null: the feature has no geometry, and so no bound.
	Null bool
	// ID is the feature's id, or else its property id, as JSON; nil if both are absent.
	ID json.RawMessage
}

// GeoJSONBounds reads a GeoJSON text, or a sequence of texts, and calls each with every
// feature. A feature has at most most bytes. Lines may have one position, rings may be
// open, and coordinates may be of any system. The first error, also of each, ends reading;
// it is a *RecordError.
func GeoJSONBounds(r io.Reader, most int64, each func(Bound) error) error {
	g := newGeoJSON(bufio.NewReaderSize(r, bufferBytes), GeoJSON, "", true)
	g.in.most = int(most)
	for {
		raw, err := g.nextRecord()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		b, err := boundOf(raw)
		if err == nil {
			err = each(b)
		}
		if err != nil {
			return finalAt(g.line, g.off, err)
		}
	}
}

func boundOf(raw []byte) (b Bound, err error) {
	f, err := cutFeature(raw)
	if err != nil {
		return b, err
	}
	if f.Type != "Feature" {
		f = rawFeature{Geometry: raw}
	}
	if b.Null = null(f.Geometry); b.Null {
		return b, nil
	}
	g, err := decodeGeometry(f.Geometry, 0, &altitudes{}, true)
	if err != nil {
		return b, err
	}
	if g == nil {
		return b, fmt.Errorf("%w: a geometry without coordinates", input.ErrSyntax)
	}
	b.Bound, b.ID = bound(g), f.ID
	if b.ID == nil && f.Properties != nil {
		var p struct{ ID json.RawMessage }
		if err := json.Unmarshal(f.Properties, &p); err != nil {
			return b, fmt.Errorf("%w: %w", input.ErrSyntax, err)
		}
		b.ID = p.ID
	}
	return b, nil
}

// bound returns the bound of a geometry with all its rings: orb bounds a polygon by the
// outer ring alone, and a file may have holes that reach outside it.
func bound(g orb.Geometry) orb.Bound {
	switch g := g.(type) {
	case orb.Polygon:
		b := g[0].Bound()
		for _, hole := range g[1:] {
			b = b.Union(hole.Bound())
		}
		return b
	case orb.MultiPolygon:
		return boundOfAll(g)
	case orb.Collection:
		return boundOfAll(g)
	}
	return g.Bound()
}

func boundOfAll[G orb.Geometry](parts []G) orb.Bound {
	b := bound(parts[0])
	for _, g := range parts[1:] {
		b = b.Union(bound(g))
	}
	return b
}
