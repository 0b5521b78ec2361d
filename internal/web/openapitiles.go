package web

import "github.com/catfish-index/catfish/internal/web/tile"

// The OpenAPI document's part on tiles and counts. The ids have the endings of the
// table of operation ids of OGC API - Tiles (clause 14).

// drawnParams are the parameters that select the features to draw.
var drawnParams = []string{"datetime", "filter", "filter-lang", "filter-crs", "where"}

func withDrawn(path string, more ...string) []string {
	return append(append([]string{path}, more...), drawnParams...)
}

var tiled = []operation{
	{path: "/tileMatrixSets", method: "get", id: "getTileMatrixSetsList", summary: "The tile matrix sets", answer: "TileMatrixSets", public: true},
	{path: "/tileMatrixSets/" + tileMatrixSetID, method: "get", id: "getTileMatrixSet", summary: "The tile matrix set of all tiles",
		answer: "TileMatrixSet", public: true},
	{path: "/collections/{collectionId}/tiles", method: "get", id: "all.collection.vector.getTileSetsList", summary: "The tilesets of a collection",
		params: []string{"collectionId"}, answer: "TileSets", errors: []int{404}},
	{path: "/collections/{collectionId}/tiles/" + tileMatrixSetID, method: "get", id: tileMatrixSetID + ".collection.vector.getTileSet",
		summary: "The vector tiles of a collection", params: []string{"collectionId"}, answer: "TileSet", errors: []int{404}},
	{path: "/collections/{collectionId}/tiles/" + tileMatrixSetID + "/{tileMatrix}/{tileRow}/{tileCol}", method: "get",
		id: tileMatrixSetID + ".collection.vector.getTile", summary: "A vector tile",
		params: append(withDrawn("collectionId", "tileMatrix", "tileRow", "tileCol", "tileProperties"), "If-None-Match"), answer: "Tile", errors: []int{404}, form: typeMVT},
	{path: "/collections/{collectionId}/tiles/{z}/{x}/{y}.mvt", method: "get", id: "xyz.collection.vector.getTile", summary: "The same, as web maps ask for it",
		params: append(withDrawn("collectionId", "z", "x", "y", "tileProperties"), "If-None-Match"), answer: "Tile", errors: []int{404}, form: typeMVT},
	{path: "/collections/{collectionId}/tiles/tile.json", method: "get", id: "getTileJSON", summary: "The vector tiles, as TileJSON 3.0",
		params: withDrawn("collectionId", "tileProperties"), answer: "TileJSON", errors: []int{404}, form: typeJSON},
	{path: countsPattern, method: "get", id: "getCounts", summary: "How many features there are in each cell of an area",
		params: withDrawn("collectionId", "bbox", "zoom"), answer: "Counts", errors: []int{404}, form: typeGeoJSON},
}

// tiledParameters are their parameters.
func tiledParameters() object {
	path := func(name, about string, schema object) object {
		return object{"name": name, "in": "path", "required": true, "description": about, "schema": schema}
	}
	count := func(most int) object { return object{"type": "integer", "minimum": 0, "maximum": most} }
	properties := object{"name": "properties", "in": "query", "required": false, "explode": false, "style": "form", "allowEmptyValue": true,
		"description": "The properties that features have in the tile, besides id; none of them if it is blank.",
		"schema":      object{"type": "array", "items": object{"type": "string"}}}
	where := object{"name": "where", "in": "query", "required": false, "style": "form", "explode": true,
		"description": "Any property of the collection's schema but one called properties, with the value that it must have, such as kind=cafe.",
		"schema":      object{"type": "object", "additionalProperties": object{"type": "string"}}}
	cells := object{"name": "zoom", "in": "query", "required": true, "description": "The zoom of the tiles that are the cells.",
		"schema": count(tile.MaxCellZoom)}
	zoom, most := count(tile.MaxZoom), 1<<tile.MaxZoom-1
	return object{
		"tileMatrix":     path("tileMatrix", "The zoom", object{"type": "string", "pattern": "^[0-9]+$"}),
		"tileRow":        path("tileRow", "The row, from the north", count(most)),
		"tileCol":        path("tileCol", "The column, from the west", count(most)),
		"z":              path("z", "The zoom", zoom),
		"x":              path("x", "The column, from the west", count(most)),
		"y":              path("y", "The row, from the north", count(most)),
		"tileProperties": properties, "where": where, "zoom": cells,
	}
}

// having is the schema of an object that has properties of these names.
func having(names ...string) object {
	properties := object{}
	for _, n := range names {
		properties[n] = object{} // anything: the standards have the schemas
	}
	return object{"type": "object", "required": names, "properties": properties}
}

func tiledResponses() object {
	header := func(about string) object { return object{"description": about, "schema": object{"type": "string"}} }
	one := func(about, contentType string, schema object) object {
		return object{"description": about, "content": object{contentType: object{"schema": schema}}}
	}
	drawn := one("Mapbox Vector Tile 2.1, of one layer with the collection's name", typeMVT, object{"type": "string", "format": "binary"})
	drawn["headers"] = object{
		"ETag":        header("Equal tags are equal tiles. None: the tile is of no one state, or depends on the time."),
		sampledHeader: header("Of a filtered tile with too many features: the part that was looked at, such as 1/12. Its clusters count each for 12, and have property sampled, 12."),
	}
	counts := one("A point in the middle of each cell that is not without any, with property count and the cell's bbox. "+
		"Member sampled: a filter looked at a part of the features, and the counts are estimates.", typeGeoJSON, ref("schemas", "FeatureCollection"))
	counts["headers"] = object{sampledHeader: header("The part of the features that a filter looked at, such as 1/12, if it is not all.")}
	return object{
		"TileMatrixSets": content("The tile matrix sets", typeJSON, having("tileMatrixSets")),
		"TileMatrixSet":  content("The tile matrix set (OGC 17-083r4)", typeJSON, having("tileMatrices")),
		"TileSets":       content("The tilesets", typeJSON, having("tilesets")),
		"TileSet":        content("The tileset (OGC 17-083r4)", typeJSON, having("dataType", "crs", "links")),
		"Tile":           drawn,
		"Counts":         counts,
		"TileJSON":       one("TileJSON 3.0", typeJSON, having("tilejson", "tiles", "vector_layers")),
	}
}
