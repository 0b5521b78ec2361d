package web

import (
	"strings"

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/internal/store"
)

// managing are the operations on collections in the OpenAPI document.
var managing = []operation{
	{path: "/collections", method: "post", id: "createCollection", summary: "A new collection",
		answer: "CollectionCreated", status: 201, body: collectionBody("id"), errors: []int{408, 409, 413, 415, 422, 507}},
	{path: "/collections/{collectionId}", method: "put", id: "replaceCollection", summary: "Makes a collection so",
		params: []string{"collectionId"}, answer: "CollectionWritten", status: 204, also: map[int]string{201: "CollectionCreated"},
		body: collectionBody(), optional: true, errors: []int{404, 408, 409, 413, 415, 422, 507}},
	{path: "/collections/{collectionId}", method: "patch", id: "updateCollection", summary: "Changes title and description (RFC 7396)",
		params: []string{"collectionId"}, answer: "CollectionWritten", status: 204,
		body: object{typeMergePatch: object{"schema": ref("schemas", "CollectionSpec")}}, errors: []int{404, 408, 409, 413, 415, 422}},
	{path: "/collections/{collectionId}", method: "delete", id: "deleteCollection", summary: "Drops a collection with all its features",
		params: []string{"collectionId"}, answer: "CollectionWritten", status: 204, errors: []int{404}},
}

func collectionBody(required ...string) object {
	schema := ref("schemas", "CollectionSpec")
	if len(required) > 0 {
		schema = object{"allOf": []object{schema}, "required": required}
	}
	return object{typeJSON: object{"schema": schema}}
}

func managingResponses() object {
	return object{
		"CollectionCreated": object{"description": "The collection is new", "headers": object{
			"Location": object{"description": "Its address", "schema": object{"type": "string"}}}},
		"CollectionWritten": object{"description": "It is done"},
	}
}

func managingSchemas() object {
	text := object{"type": "string", "maxLength": api.MaxTextBytes, "nullable": true}
	return object{"CollectionSpec": object{"type": "object", "properties": object{
		"id":    object{"type": "string", "minLength": 1, "maxLength": store.MaxNameBytes},
		"title": text, "description": text,
	}, "description": "What a collection is to be. " + strings.Join(describedMembers, ", ") +
		", itemType and crs, as GET gives them, may be there, and change nothing."}}
}
