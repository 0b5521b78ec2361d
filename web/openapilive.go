package web

// Of the OpenAPI document: what is near, and what happens.

// live are the operations that no part of OGC API has.
var live = []operation{
	{path: nearestPattern, method: "get", id: "getNearest", summary: "Features around a point, the nearest first",
		params: []string{"collectionId", "point", "limit", "max", "datetime", "filter", "filter-lang", "filter-crs", "properties"},
		answer: "Nearest", errors: []int{404}},
	{path: eventsPattern, method: "get", id: "getEvents", summary: "What is written to an area from now on, as server-sent events",
		params: []string{"collectionId", "bbox", "datetime", "filter", "filter-lang", "filter-crs", "properties", "lastEventId", "Last-Event-ID"},
		answer: "Events", errors: []int{404}, form: typeEvents},
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
		"Events": object{"description": "Events enter, inside, changed and exit have a feature as GeoJSON, with its revision and, where it left, why; " +
			"progress has the revision up to which there was nothing else; reset says that events are lost: search again.",
			"content": object{typeEvents: object{"schema": object{"type": "string"}}}},
	}
}
