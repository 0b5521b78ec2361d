package places

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/internal/places/input"
)

// Coordinate reference systems
//
// Nothing is projected. GeoJSON has been longitude and latitude since RFC 7946; before,
// it had a member crs, which programs still write for other systems. FlatGeobuf names its
// system. A name of another system ends reading, unless Options.AnyCRS allows any.

// wgs84 are names of the accepted coordinates: longitude and latitude of WGS 84, with a
// height or without.
var wgs84 = []string{"CRS84", "CRS84H", "EPSG:4326", "EPSG:4979", "WGS84", "WGS 84"}

// isWGS84 judges the name of a coordinate reference system, such as
// urn:ogc:def:crs:OGC:1.3:CRS84, http://www.opengis.net/def/crs/EPSG/0/4326 or
// EPSG:4326.
func isWGS84(name string) bool {
	name = strings.ToUpper(strings.TrimSpace(name))
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == ':' || r == '/' || r == '#' })
	if len(parts) == 0 {
		return false
	}
	last := parts[len(parts)-1]
	if slices.Contains(parts[:len(parts)-1], "EPSG") || slices.Contains(parts[:len(parts)-1], "EPSG.XML") {
		last = "EPSG:" + last
	}
	return slices.Contains(wgs84, last)
}

func foreignCRS(name string) *ForeignError {
	return &ForeignError{Is: fmt.Sprintf("its coordinates are of %s, want longitude and latitude (WGS 84)", input.QuoteUpTo(name, 100)), Project: true}
}

// crsOfGeoJSON judges the member crs of a GeoJSON object (GeoJSON 2008, section 3).
func crsOfGeoJSON(raw json.RawMessage) error {
	if null(raw) {
		return nil
	}
	var crs struct {
		Properties struct {
			Name, URN, Href string
			Code            json.Number
		}
	}
	var name string
	if json.Unmarshal(raw, &name) != nil {
		_ = json.Unmarshal(raw, &crs) // An absent member has no name.
		switch p := &crs.Properties; {
		case p.Name != "":
			name = p.Name
		case p.URN != "":
			name = p.URN
		case p.Href != "":
			name = p.Href
		case p.Code != "":
			name = "EPSG:" + p.Code.String()
		}
	}
	if isWGS84(name) {
		return nil
	}
	if name == "" {
		name = string(raw)
	}
	return foreignCRS(name)
}

// crsOfFeature is crsOfGeoJSON of a feature or geometry that may have the member.
func crsOfFeature(raw []byte) error {
	if !bytes.Contains(raw, []byte(`"crs"`)) {
		return nil
	}
	var f struct{ CRS json.RawMessage }
	if json.Unmarshal(raw, &f) != nil {
		return nil // The decoder reports the error.
	}
	return crsOfGeoJSON(f.CRS)
}

// crs returns the name of the system in the header of a FlatGeobuf file:
//
//	0 organisation, absent: EPSG   1 code (i32, 0: unknown)   2 name   4 WKT   5 code as text
//
// It is empty if the header has none.
func (f *flat) crs(header table) string {
	t, ok := f.child(header, 10)
	if !ok {
		return ""
	}
	org := strings.ToUpper(string(f.text(t, 0)))
	if org == "" {
		org = "EPSG"
	}
	if at := f.field(t, 1); at != 0 {
		if code := f.u32(at); code != 0 {
			return fmt.Sprintf("%s:%d", org, code)
		}
	}
	if code := f.text(t, 5); len(code) > 0 {
		return org + ":" + string(code)
	}
	if name := f.text(t, 2); len(name) > 0 {
		return string(name)
	}
	_, quoted, _ := strings.Cut(string(f.text(t, 4)), `"`) // the name in WKT is its first text
	name, _, _ := strings.Cut(quoted, `"`)
	return name
}
