package places

import (
	"slices"

	"github.com/catfish-index/catfish/internal/places/input"
)

// Which closed ways are areas
//
// OpenStreetMap has no type for areas: a way that ends where it begins is a
// roundabout or a lake, and only its tags decide. The rules are those that the
// community maintains for overpass turbo and osmtogeojson:
// https://wiki.openstreetmap.org/wiki/Overpass_turbo/Polygon_Features (CC BY-SA
// 2.0), as data in https://github.com/tyrasd/osm-polygon-features (CC0 1.0) with
// highway=elevator and indoor, which the wiki has added since. A closed way is
// an area
//
//   - never if it is tagged area=no, always if area has another value;
//   - if one of the keys below has a value that is not "no", and that is in
//     the list after only, or not in the list after not.

type areaRule struct{ only, not []string }

var areaRules = map[string]areaRule{
	"aeroway":          {not: []string{"taxiway"}},
	"amenity":          {},
	"area:highway":     {},
	"barrier":          {only: []string{"city_wall", "ditch", "hedge", "retaining_wall", "spikes", "wall"}},
	"boundary":         {},
	"building":         {},
	"building:part":    {},
	"craft":            {},
	"golf":             {},
	"highway":          {only: []string{"elevator", "escape", "rest_area", "services"}},
	"historic":         {},
	"indoor":           {},
	"landuse":          {},
	"leisure":          {},
	"man_made":         {not: []string{"cutline", "embankment", "pipeline"}},
	"military":         {},
	"natural":          {not: []string{"arete", "cliff", "coastline", "ridge", "tree_row"}},
	"office":           {},
	"place":            {},
	"power":            {only: []string{"generator", "plant", "substation", "transformer"}},
	"public_transport": {},
	"railway":          {only: []string{"platform", "roundhouse", "station", "turntable"}},
	"ruins":            {},
	"shop":             {},
	"tourism":          {},
	"waterway":         {only: []string{"boatyard", "dam", "dock", "riverbank"}},
}

// isArea reports whether a closed way with these tags is an area.
func isArea(tags []input.OSMTag) bool {
	area := false
	for _, t := range tags {
		if string(t.Key) == "area" {
			return string(t.Value) != "no"
		}
		rule, known := areaRules[string(t.Key)]
		switch value := string(t.Value); {
		case !known, value == "no":
		case rule.only != nil:
			area = area || slices.Contains(rule.only, value)
		default:
			area = area || !slices.Contains(rule.not, value)
		}
	}
	return area
}

// isAreaRelation reports whether the ways of a relation are the outline of an
// area: https://wiki.openstreetmap.org/wiki/Relation:multipolygon.
func isAreaRelation(tags []input.OSMTag) bool {
	i := slices.IndexFunc(tags, isType)
	return i >= 0 && (string(tags[i].Value) == "multipolygon" || string(tags[i].Value) == "boundary")
}

func isType(t input.OSMTag) bool { return string(t.Key) == "type" }
