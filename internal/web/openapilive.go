package web

import "github.com/catfish-index/catfish/api"

// The OpenAPI document's part on nearest features and events.

// live are the operations that no part of OGC API defines.
var live = []operation{
	{path: nearestPattern, method: "get", id: "getNearest", summary: "Features around a point, the nearest first",
		params: []string{"collectionId", "point", "limit", "max", "datetime", "filter", "filter-lang", "filter-crs", "properties"},
		answer: "Nearest", errors: []int{404}},
	{path: eventsPattern, method: "get", id: "getEvents", summary: "What is written to an area from now on, as server-sent events",
		params: []string{"collectionId", "bbox", "areas", "datetime", "filter", "filter-lang", "filter-crs", "properties", "lastEventId", "Last-Event-ID"},
		answer: "Events", errors: []int{404}, form: typeEvents},
	{path: eventsPattern, method: "post", id: "followAreas", summary: "What is written to some areas from now on, as server-sent events",
		params: []string{"collectionId", "datetime", "filter", "filter-lang", "filter-crs", "properties", "lastEventId", "Last-Event-ID"},
		answer: "Events", body: object{typeJSON: object{"schema": ref("schemas", "Areas")}}, errors: []int{404, 408, 413, 415, 422}, form: typeEvents},
}

// liveParameters are their parameters.
func liveParameters() object {
	text := object{"type": "string", "pattern": "^[0-9]+(-[0-9a-f]{1,16})?$"}
	const about = "The id of the last event that the client has: only what was written later follows, and event reset if that is not known any more."
	point := object{"name": "point", "in": "query", "required": true, "style": "form", "explode": false,
		"description": "The place from which distances are measured: longitude, latitude in degrees.",
		"schema":      object{"type": "array", "minItems": 2, "maxItems": 2, "items": object{"type": "number"}}}
	return object{
		"point": point,
		"max": object{"name": "max", "in": "query", "required": false, "description": "Only features that are at most so many metres away.",
			"schema": object{"type": "number", "minimum": 0, "exclusiveMinimum": true}},
		"areas": object{"name": "areas", "in": "query", "required": false,
			"description": "Areas with names, between semicolons: name:west,south,east,north or name:longitude,latitude,metres. Events tell the area's name.",
			"schema":      object{"type": "string"}},
		"lastEventId":   object{"name": "lastEventId", "in": "query", "required": false, "description": about, "schema": text},
		"Last-Event-ID": object{"name": "Last-Event-ID", "in": "header", "required": false, "description": about + " It counts more than the parameter.", "schema": text},
	}
}

func liveResponses() object {
	near := object{"allOf": []object{ref("schemas", "FeatureCollection"), {"type": "object", "properties": object{
		"features": object{"type": "array", "items": object{"type": "object", "required": []string{"distance"}, "properties": object{
			"distance": object{"type": "number", "minimum": 0, "description": "metres"}}}}}}}}
	return object{
		"Nearest": content("Features, the nearest first", typeGeoJSON, near),
		"Events": object{"description": "Events enter, inside, changed and exit have a feature as GeoJSON, with its revision, the name of the area, if that has one, and, where it left, why; " +
			"progress has the revision up to which there was nothing else; reset says that events are lost: search again.",
			"content": object{typeEvents: object{"schema": object{"type": "string"}}}},
	}
}

func liveSchemas() object {
	numbers := func(n int) object {
		return object{"type": "array", "minItems": n, "maxItems": n, "items": object{"type": "number"}}
	}
	area := object{"type": "object", "required": []string{"name"}, "properties": object{
		"name":     object{"type": "string", "minLength": 1, "maxLength": maxAreaName},
		"bbox":     numbers(4),
		"geometry": object{"type": "object", "description": "A Polygon or MultiPolygon"},
		"point":    numbers(2), "radius": object{"type": "number", "minimum": 0, "exclusiveMinimum": true, "description": "metres around point"},
		"filter": object{"description": "CQL2 as a text, or as JSON", "oneOf": []object{{"type": "string"}, {"type": "object"}}},
	}, "description": "Of bbox, geometry, and point with radius there is one."}
	return object{"Areas": object{"type": "object", "required": []string{"areas"}, "properties": object{
		"areas": object{"type": "array", "minItems": 1, "maxItems": api.MaxWatchAreas, "items": area}}}}
}
