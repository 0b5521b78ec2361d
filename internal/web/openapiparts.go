package web

import (
	"fmt"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/web/cql2"
)

// The components of the OpenAPI document.

func (q *request) parameters(collections []string) object {
	name := object{"type": "string"}
	if n := len(collections); n > 0 && n <= maxEnum {
		name["enum"] = collections
	}
	query := func(name, about string, schema object) object {
		return object{"name": name, "in": "query", "required": false, "description": about, "schema": schema}
	}
	bbox := query("bbox", "Only features that intersect this box: west, south, east, north in degrees, or six numbers with heights. "+
		"If west is greater than east it crosses 180 degrees. Features without a geometry are in every box, but are not counted.",
		object{"type": "array", "oneOf": []object{{"minItems": 4, "maxItems": 4}, {"minItems": 6, "maxItems": 6}}, "items": object{"type": "number"}})
	bbox["style"], bbox["explode"] = "form", false
	datetime := query("datetime", fmt.Sprintf("Only features whose property %q is in this time: a time by RFC 3339, a date, "+
		"or two of them with a slash between, of which one may be \"..\". Features without that property are in all times.", q.o.Time),
		object{"type": "string"})
	datetime["style"], datetime["explode"] = "form", false
	limit := query("limit", "At most so many features on a page.",
		object{"type": "integer", "minimum": 1, "maximum": MaxLimit, "default": DefaultLimit})
	limit["style"], limit["explode"] = "form", false
	properties := query("properties", "Any property of the collection's schema, with the value that it must have, such as kind=cafe.",
		object{"type": "object", "additionalProperties": object{"type": "string"}})
	properties["style"], properties["explode"] = "form", true
	return object{
		"collectionId": object{"name": "collectionId", "in": "path", "required": true, "schema": name},
		"featureId": object{"name": "featureId", "in": "path", "required": true,
			"schema": object{"type": "string", "minLength": 1, "maxLength": feature.MaxIDBytes}},
		"f":     query("f", "The form of the answer; without it header Accept decides.", object{"type": "string", "enum": []string{"json", "html"}}),
		"bbox":  bbox,
		"limit": limit, "datetime": datetime, "properties": properties,
		"after": query("after", "Only features behind this id: the link to the next page has it.",
			object{"type": "string", "minLength": 1, "maxLength": feature.MaxIDBytes}),
		"numberMatched": query("numberMatched", "true counts all that matches, however long that takes; false leaves numberMatched out. "+
			"Without the parameter it is there if it is known within 50 ms.", object{"type": "boolean"}),
		"filter": query("filter", "Only features for which this is true, in CQL2 text, such as kind = 'cafe' AND S_WITHIN(geometry, BBOX(1, 42, 2, 43)), "+
			"or in CQL2 JSON, such as {\"op\":\"=\",\"args\":[{\"property\":\"kind\"},\"cafe\"]}.",
			object{"type": "string", "maxLength": cql2.MaxBytes}),
		"filter-lang": query("filter-lang", "The language of filter.", object{"type": "string", "enum": []string{langText, langJSON}, "default": langText}),
		"filter-crs":  query("filter-crs", "The reference system of geometries in filter.", object{"type": "string", "enum": []string{crs84}, "default": crs84}),
		"If-None-Match": object{"name": "If-None-Match", "in": "header", "required": false,
			"description": "ETags of the feature that the client has", "schema": object{"type": "string"}},
		"If-Match": object{"name": "If-Match", "in": "header", "required": false,
			"description": "ETags of the feature that may be written over, or * for any", "schema": object{"type": "string"}},
		"IfAbsent": object{"name": "If-None-Match", "in": "header", "required": false,
			"description": "* writes the feature only if there is none", "schema": object{"type": "string"}},
	}
}

// content is an answer in JSON and as a page.
func content(about, jsonType string, schema object) object {
	return object{"description": about, "content": object{
		jsonType: object{"schema": schema}, typeHTML: object{"schema": object{"type": "string"}},
	}}
}

func responses() object {
	etagged := content("The feature", typeGeoJSON, ref("schemas", "Feature"))
	etagged["headers"] = object{"ETag": object{"description": "The feature's revision", "schema": object{"type": "string"}}}
	tag := object{"description": "The feature's revision", "schema": object{"type": "string"}}
	return object{
		"Created": object{"description": "The feature is new", "headers": object{
			"ETag": tag, "Location": object{"description": "Its address", "schema": object{"type": "string"}}}},
		"Written":     object{"description": "The feature is written", "headers": object{"ETag": tag}},
		"Deleted":     object{"description": "The feature is deleted"},
		"LandingPage": content("Links to all there is", typeJSON, ref("schemas", "LandingPage")),
		"Conformance": content("URIs of conformance classes", typeJSON, ref("schemas", "Conformance")),
		"API":         content("OpenAPI 3.0", typeOpenAPI, object{"type": "object"}),
		"Collections": content("The collections", typeJSON, ref("schemas", "Collections")),
		"Collection":  content("The collection", typeJSON, ref("schemas", "Collection")),
		"Schema":      content("JSON Schema", typeSchema, object{"type": "object"}),
		"Features":    content("A page of features", typeGeoJSON, ref("schemas", "FeatureCollection")),
		"Feature":     etagged,
		"Problem": object{"description": "What is wrong (RFC 9457)", "content": object{
			"application/problem+json": object{"schema": ref("schemas", "Problem")}}},
	}
}

func schemas() object {
	text, count := object{"type": "string"}, object{"type": "integer", "minimum": 0}
	list := func(of object) object { return object{"type": "array", "items": of} }
	links := list(ref("schemas", "Link"))
	obj := func(required []string, properties object) object {
		o := object{"type": "object", "properties": properties}
		if len(required) > 0 {
			o["required"] = required
		}
		return o
	}
	return object{
		"Link":        obj([]string{"href", "rel"}, object{"href": text, "rel": text, "type": text, "title": text}),
		"LandingPage": obj([]string{"links"}, object{"title": text, "description": text, "links": links}),
		"Conformance": obj([]string{"conformsTo"}, object{"conformsTo": list(text)}),
		"Collections": obj([]string{"links", "collections"}, object{"links": links, "collections": list(ref("schemas", "Collection"))}),
		"Collection": obj([]string{"id", "links"}, object{
			"id": text, "title": text, "description": text, "itemType": text, "itemCount": count, "crs": list(text), "links": links,
			"extent": obj(nil, object{"spatial": obj(nil, object{"bbox": list(list(object{"type": "number"})), "crs": text})}),
		}),
		"Feature": obj([]string{"type", "geometry", "properties"}, object{
			"type": object{"type": "string", "enum": []string{"Feature"}}, "id": text,
			"geometry":   object{"type": "object", "nullable": true},
			"properties": object{"type": "object", "nullable": true}, "links": links,
			"expires": object{"type": "string", "format": "date-time", "description": "When it is deleted; not there: never"},
		}),
		"FeatureCollection": obj([]string{"type", "features"}, object{
			"type": object{"type": "string", "enum": []string{"FeatureCollection"}}, "features": list(ref("schemas", "Feature")),
			"links": links, "timeStamp": object{"type": "string", "format": "date-time"}, "numberMatched": count, "numberReturned": count,
		}),
		"Problem": obj([]string{"title", "status", "detail"}, object{
			"title": text, "status": object{"type": "integer"}, "detail": text,
			"parameter": text, "value": text, "limit": text, "column": object{"type": "integer"}, "pointer": text,
			"uploaded": ref("schemas", "Uploaded"),
		}),
	}
}
