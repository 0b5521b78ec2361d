package web

import (
	"math"
	"slices"

	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/web/tile"
)

// The tiles of a collection: tilesets of OGC API - Tiles (20-057, clause 8 and 9), of
// which there is one, and the same for web maps, TileJSON 3.0.

// templated is a link with variables.
type templated struct {
	link
	Templated bool `json:"templated"`
}

// tilesetPath is the path of a collection's tileset.
func tilesetPath(name string) []string {
	return []string{"collections", name, "tiles", tileMatrixSetID}
}

// tilesets answers with the list of a collection's tilesets.
func (q *request) tilesets() error {
	c, err := q.find(access.Read)
	if err != nil {
		return err
	}
	d, err := c.Describe(q.ctx)
	if err != nil {
		return err
	}
	return q.sendDocument("Tiles of "+titleOf(&d), []string{"collections", d.Name, "tiles"}, q.upTo(&d), func(links []link) object {
		return object{"links": append(links, q.aboutTiles(&d)...), "tilesets": []object{{
			"title": titleOf(&d), "dataType": "vector", "crs": crs3857, "tileMatrixSetURI": tileMatrixSetURI,
			"links": []link{
				{q.at("", tilesetPath(d.Name)...), "self", typeJSON, "the tileset"},
				{q.at("", "tileMatrixSets", tileMatrixSetID), relTilingScheme, typeJSON, "its tile matrix set"},
			},
		}}}
	})
}

// aboutTiles are links from tiles to their TileJSON and to their collection.
func (q *request) aboutTiles(d *store.Description) []link {
	return []link{
		{q.at("", "collections", d.Name, "tiles", "tile.json"), "describedby", typeJSON, "the tiles, as TileJSON"},
		{q.at("", "collections", d.Name), "collection", typeJSON, "the collection"},
	}
}

func (q *request) upTo(d *store.Description) []crumb {
	return []crumb{{q.at("f=html", "collections"), "Collections"}, {q.at("f=html", "collections", d.Name), titleOf(d)}}
}

func titleOf(d *store.Description) string {
	if d.Title != "" {
		return d.Title
	}
	return d.Name
}

// tileset answers with the metadata of a collection's tileset (OGC 17-083r4, clause 7).
func (q *request) tileset() error {
	c, err := q.find(access.Read)
	if err != nil {
		return err
	}
	d, err := c.Describe(q.ctx)
	if err != nil {
		return err
	}
	return q.sendDocument("Tileset of "+titleOf(&d), tilesetPath(d.Name), q.upTo(&d), func(links []link) object {
		layer := object{
			"id": d.Name, "title": titleOf(&d), "dataType": "vector",
			"propertiesSchema": object{"type": "object", "properties": tilePropertiesOf(&d)},
			"links":            []link{{q.at("", "collections", d.Name), "collection", typeJSON, "the collection"}},
		}
		tileset := object{
			"title": titleOf(&d), "dataType": "vector", "crs": crs3857, "tileMatrixSetURI": tileMatrixSetURI,
			"mediaTypes": []string{typeMVT}, "layers": []object{layer},
		}
		if d.Description != "" {
			tileset["description"] = d.Description
		}
		if b := boundsOf(&d); b != nil {
			tileset["boundingBox"] = object{"lowerLeft": b[:2], "upperRight": b[2:], "crs": crs84}
			longitude, latitude, zoom := centerOf(b)
			tileset["centerPoint"] = object{
				"coordinates": [2]float64{longitude, latitude}, "crs": crs84, "tileMatrix": tileMatrices()[zoom].ID,
			}
		}
		var all []any
		for _, l := range append(links, q.aboutTiles(&d)...) {
			all = append(all, l)
		}
		tileset["links"] = append(all,
			link{q.at("", "tileMatrixSets", tileMatrixSetID), relTilingScheme, typeJSON, "its tile matrix set"},
			templated{link{q.at("", tilesetPath(d.Name)...) + "/{tileMatrix}/{tileRow}/{tileCol}", "item", typeMVT, "a tile"}, true})
		return tileset
	})
}

// boundsOf is the extent of the features that tiles show: west, south, east, north; nil:
// there are none. It has the whole width if it crosses 180 degrees.
func boundsOf(d *store.Description) *[4]float64 {
	if d.Extent == nil {
		return nil
	}
	b := *d.Extent
	if b[0] > b[2] {
		b[0], b[2] = -180, 180
	}
	for _, i := range []int{1, 3} {
		b[i] = min(max(b[i], -tile.MaxLatitude), tile.MaxLatitude)
	}
	for i := range b {
		b[i] += 0 // not -0
	}
	return &b
}

// centerOf is the middle of bounds, and the largest zoom at which a tile is as wide and
// as high as the bounds.
func centerOf(b *[4]float64) (longitude, latitude float64, zoom int) {
	y := func(latitude float64) float64 {
		return math.Asinh(math.Tan(latitude*math.Pi/180)) * 180 / math.Pi // 180 is the edge of the world
	}
	south, north := y(b[1]), y(b[3])
	latitude = math.Atan(math.Sinh((south+north)/2*math.Pi/180)) * 180 / math.Pi
	zoom = tile.MaxZoom
	if width := max(b[2]-b[0], north-south); width > 0 {
		zoom = int(min(max(math.Floor(math.Log2(360/width)), 0), tile.MaxZoom))
	}
	return (b[0] + b[2]) / 2, latitude, zoom
}

// tilePropertiesOf is the schema of features' properties in tiles: arrays and objects
// are texts there, null is omitted, and the id is a property.
func tilePropertiesOf(d *store.Description) object {
	properties := object{}
	for _, p := range d.Properties {
		types := map[string]bool{}
		for t, n := range p.Types {
			switch {
			case n == 0 || t == "null":
			case t == "array" || t == "object":
				types["string"] = true
			default:
				types[t] = true
			}
		}
		if len(types) == 1 {
			for t := range types {
				properties[p.Name] = object{"type": t}
			}
		} else {
			properties[p.Name] = object{} // any type
		}
	}
	properties["id"] = object{"type": "string"}
	return properties
}

// tileJSON answers with TileJSON 3.0.0. It takes the parameters of tiles, whose address
// in the answer repeats them.
func (q *request) tileJSON() error {
	c, err := q.find(access.Read)
	if err != nil {
		return err
	}
	if f, ok := q.params.take("f"); ok && f != "json" {
		return &paramError{name: "f", value: f, want: "json"}
	}
	o, err := q.tileOptions(c)
	if err != nil {
		return err
	}
	d, err := c.Describe(q.ctx)
	if err != nil {
		return err
	}
	address := q.at("", "collections", d.Name, "tiles") + "/{z}/{x}/{y}.mvt"
	if query := q.params.query(param{"f", ""}); query != "" {
		address += "?" + query
	}
	doc := object{
		"tilejson": "3.0.0", "name": titleOf(&d), "scheme": "xyz", "tiles": []string{address},
		"minzoom": 0, "maxzoom": tile.MaxZoom, "vector_layers": []object{{
			"id": d.Name, "minzoom": 0, "maxzoom": tile.MaxZoom, "fields": fieldsOf(&d, &o),
		}},
	}
	if d.Description != "" {
		doc["description"] = d.Description
	}
	if b := boundsOf(&d); b != nil {
		longitude, latitude, zoom := centerOf(b)
		doc["bounds"], doc["center"] = b, [3]float64{longitude, latitude, float64(zoom)}
	}
	return q.sendJSON(typeJSON, doc)
}

// fieldsOf are the properties of features and clusters in tiles, with their types for
// people. Filtered tiles may be of a sample.
func fieldsOf(d *store.Description, o *tile.Options) object {
	fields := object{"cluster": "Boolean", "point_count": "Number"}
	if o.Filter != "" || o.Where != nil {
		fields["sampled"] = "Number"
	}
	for name, schema := range tilePropertiesOf(d) {
		if name != "id" && (o.NoProperties || len(o.Fields) > 0 && !slices.Contains(o.Fields, name)) {
			continue
		}
		switch schema.(object)["type"] {
		case "boolean":
			fields[name] = "Boolean"
		case "number", "integer":
			fields[name] = "Number"
		case "string":
			fields[name] = "String"
		default:
			fields[name] = "Mixed"
		}
	}
	return fields
}
