package web

// Of the OpenAPI document: what is near, and what happens.

// live are the operations that no part of OGC API has.
var live = []operation{
	{path: eventsPattern, method: "get", id: "getEvents", summary: "What is written to an area from now on, as server-sent events",
		params: []string{"collectionId", "bbox", "datetime", "filter", "filter-lang", "filter-crs", "properties", "lastEventId", "Last-Event-ID"},
		answer: "Events", errors: []int{404}, form: typeEvents},
}

// liveParameters are their parameters.
func liveParameters() object {
	text := object{"type": "string", "pattern": "^[0-9]+(-[0-9a-f]{1,16})?$"}
	const about = "The id of the last event that the client has: only what was written later follows, and event reset if that is not known any more."
	return object{
		"lastEventId":   object{"name": "lastEventId", "in": "query", "required": false, "description": about, "schema": text},
		"Last-Event-ID": object{"name": "Last-Event-ID", "in": "header", "required": false, "description": about + " It counts more than the parameter.", "schema": text},
	}
}

func liveResponses() object {
	return object{
		"Events": object{"description": "Events enter, inside, changed and exit have a feature as GeoJSON, with its revision and, where it left, why; " +
			"progress has the revision up to which there was nothing else; reset says that events are lost: search again.",
			"content": object{typeEvents: object{"schema": object{"type": "string"}}}},
	}
}
