package web

// The OpenAPI document's part on uploads of many features.

func uploadBody() object {
	return object{
		typeGeoJSON: object{"schema": object{"oneOf": []object{ref("schemas", "Feature"), ref("schemas", "FeatureCollection")}}},
		typeSeq:     object{"schema": object{"type": "string", "description": "Features, each after a record separator (RFC 8142)"}},
		typeNDJSON:  object{"schema": object{"type": "string", "description": "Features, one in each line"}},
	}
}

func uploadParameters() object {
	return object{"ttl": object{"name": "ttl", "in": "query", "required": false,
		"description": "After how long what is written is deleted, such as 90s, 10m or 24h.", "schema": object{"type": "string"}}}
}

func uploadResponses() object {
	return object{
		"Uploaded": object{"description": "What became of the features of a FeatureCollection or a sequence: numbers and the first errors, " +
			"or, for who accepts " + typeNDJSON + ", a line for each feature, and the numbers in the last one.",
			"content": object{
				typeJSON:   object{"schema": ref("schemas", "Uploaded")},
				typeNDJSON: object{"schema": object{"type": "string"}},
			}},
		"DeletedFeatures": object{"description": "How many features were deleted", "content": object{
			typeJSON: object{"schema": object{"type": "object", "required": []string{"deleted"}, "properties": object{
				"deleted": object{"type": "integer", "minimum": 0}}}}}},
	}
}

func uploadSchemas() object {
	count := object{"type": "integer", "minimum": 0}
	return object{"Uploaded": object{"type": "object", "required": []string{"received", "created", "replaced", "rejected"}, "properties": object{
		"received": count, "created": count, "replaced": count, "rejected": count,
		"errors": object{"type": "array", "maxItems": toldErrors, "items": object{"type": "object", "required": []string{"index", "error"}, "properties": object{
			"index": count, "id": object{"type": "string"}, "error": object{"type": "string"}}}},
	}}}
}
