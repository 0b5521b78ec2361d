package web

// abouts describe operations in the OpenAPI document, by id, where their summaries are
// not sufficient.
var abouts = map[string]string{
	"getLandingPage":     "Links to all pages. Browsers get the map.",
	"getConformance":     "The classes of OGC API - Features, Tiles and CQL2 that the server conforms to.",
	"getApi":             "All pages, their parameters and answers, as OpenAPI 3.0.",
	"getCollections":     "Those that the key may read.",
	"describeCollection": "Title, description, extent, how many features it has, and links.",
	"getSchema":          "The properties of the features that there are now, with their types.",
	"getQueryables":      "The properties that filters and parameters may name.",
	"getFeatures":        "Features in the order of their ids, up to limit. The link next leads to the next page. All conditions must hold.",
	"getFeature":         "As GeoJSON or a page. Its ETag is its revision.",
	"getNearest":         "By distance from a point along great circles, in metres.",
	"getEvents": "The stream begins with event progress. It goes on behind an event whose id is given. " +
		"EventSource of browsers reads it.",
	"followAreas": "Of boxes, circles and polygons with names and filters of their own. Each event has the name of its area; " +
		"a write that concerns several has one for each. Parameters are conditions for all areas.",
	"createCollection": "Of the id in the body; 409 if there is one. It needs role admin of it.",
	"replaceCollection": "Creates it, or replaces title and description of the one that is there; its features stay. " +
		"It needs role admin of it.",
	"updateCollection": "What the body does not have stays. It needs role admin of it.",
	"deleteCollection": "It cannot be undone. It needs role admin of it.",
	"createFeature": "A Feature gets the id that it has (409 if there is one) or a new one. A FeatureCollection, NDJSON or an " +
		"RFC 8142 sequence, of any length, is stored as it comes, without conditions: features of ids that there are are replaced, " +
		"bad ones left out and told. What was stored before an error stays.",
	"deleteFeatures": "Of bbox, filter and properties one must be there; filter=TRUE is all features. An area has no features without a geometry.",
	"replaceFeature": "Whether there is one or not. A time of expiry is taken away, unless ttl is given.",
	"updateFeature":  "Properties are merged; a geometry is whole, or null. A time of expiry stays, unless ttl is given.",
	"deleteFeature":  "With If-Match only if it is as the client knows it.",

	"getTileMatrixSetsList":                           "There is one.",
	"getTileMatrixSet":                                "The zooms, with their scales.",
	"all.collection.vector.getTileSetsList":           "There is one for each collection.",
	tileMatrixSetID + ".collection.vector.getTileSet": "With links to its tiles.",
	tileMatrixSetID + ".collection.vector.getTile":    "By zoom, row and column.",
	"xyz.collection.vector.getTile":                   "By zoom, column and row.",
	"getTileJSON":                                     "All that MapLibre needs to draw the collection.",
	"getCounts":                                       "For clusters and heat maps: a point in the middle of each cell, with the number.",

	"getEngine":       "Policies, transports and limits of a load.",
	"getEngineEvents": "Rates, latencies and utilisation of the second that is over.",
	"startEngineLoad": "One at a time, if the server was started with --engine-load. It needs role admin of *.",
	"stopEngineLoad":  "Its clients end.",
}
