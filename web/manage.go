package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/access"
	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/store"
)

// Collections come and go
//
//	PUT    /collections/{id}  makes the collection so, whether there is one or not
//	POST   /collections       a new one, of the id in the body
//	PATCH  /collections/{id}  changes title and description (RFC 7396)
//	DELETE /collections/{id}  with all its features
//
// OGC API has no standard for that. These are the methods of STAC API's Collection
// Transaction extension, which mean for collections what Part 4 means for features.
// All take the role admin of the collection, as over gRPC.

// describedMembers are those of GET's answer that say nothing of what a collection is to
// be: a client may send them back.
var describedMembers = []string{"links", "extent", "itemCount"}

// spec is what a body says of a collection. nil: nothing.
type spec struct{ id, title, description *string }

// specIn is the spec in the body, which may be empty if that is optional.
func (q *request) specIn(optional bool, types ...string) (s spec, err error) {
	if optional && q.r.ContentLength == 0 {
		return s, nil
	}
	if err := q.mediaType(q.r.Method+" wants", types...); err != nil {
		return s, err
	}
	body, err := q.body()
	if err != nil {
		return s, err
	}
	return specOf(body)
}

func specOf(body []byte) (s spec, err error) {
	bad := func(format string, args ...any) (spec, error) {
		return s, &statusError{http.StatusBadRequest, "the body: " + fmt.Sprintf(format, args...)}
	}
	// It bounds how deep the text is, which package json does not.
	whole, err := feature.CompactProperties(body)
	if err != nil {
		return s, fmt.Errorf("the body: %w", err)
	}
	if whole == nil {
		return bad("want an object, such as %s", `{"title":"Cafes"}`)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(whole, &members); err != nil {
		return bad("%v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := members[name]
		var to **string
		switch name {
		case "id":
			to = &s.id
		case "title":
			to = &s.title
		case "description":
			to = &s.description
		case "itemType":
			if string(value) != `"feature"` {
				return bad(`itemType is %.40s, want "feature"`, value)
			}
			continue
		case "crs":
			var all []string
			if json.Unmarshal(value, &all) != nil || !slices.Equal(all, []string{crs84}) {
				return bad("crs is %.200s, want [%q]", value, crs84)
			}
			continue
		default:
			if !slices.Contains(describedMembers, name) {
				return bad("member %.100q is unknown, want id, title or description", name)
			}
			continue
		}
		text := "" // of null
		if err := json.Unmarshal(value, &text); err != nil {
			return bad("%s is %.40s, want a text", name, value)
		}
		if len(text) > api.MaxTextBytes {
			return bad("%s has %d bytes, want at most %d", name, len(text), api.MaxTextBytes)
		}
		*to = &text
	}
	return s, nil
}

// isOf is an error if the body has another id than the path.
func (s *spec) isOf(name string) error {
	if s.id != nil && *s.id != name {
		return &statusError{http.StatusBadRequest, fmt.Sprintf("the body's id is %.200q, and that of the path %.200q: ids do not change", *s.id, name)}
	}
	return nil
}

// alter is o with what the spec says.
func (s *spec) alter(o store.CollectionOptions) store.CollectionOptions {
	if s.title != nil {
		o.Title = *s.title
	}
	if s.description != nil {
		o.Description = *s.description
	}
	return o
}

// administers is the collections, for a key that may create and drop one of this name.
func (q *request) administers(name string) (api.FeatureBackend, error) {
	if err := q.may(name, access.Admin); err != nil {
		return nil, err
	}
	if err := q.params.end("none"); err != nil {
		return nil, err
	}
	return q.ready()
}

// createCollection answers to POST.
func (q *request) createCollection() error {
	s, err := q.specIn(false, typeJSON)
	if err != nil {
		return err
	}
	if s.id == nil {
		return &statusError{http.StatusBadRequest, `the body: id is missing, want such as {"id":"cafes"}`}
	}
	b, err := q.administers(*s.id)
	if err != nil {
		return err
	}
	switch _, err := b.Features(*s.id); {
	case err == nil, errors.Is(err, catfish.ErrKind):
		return &statusError{http.StatusConflict, fmt.Sprintf("there is a collection %.200q", *s.id)}
	case !errors.Is(err, store.ErrUnknownCollection):
		return err
	}
	return q.make(b, *s.id, s.alter(store.CollectionOptions{}))
}

// make creates a collection that was not there a moment ago.
func (q *request) make(b api.FeatureBackend, name string, o store.CollectionOptions) error {
	if err := q.host.Room(); err != nil {
		return err
	}
	if _, err := b.CreateFeatures(name, o); err != nil {
		return ofCollection(err)
	}
	q.w.Header().Set("Location", q.at("", "collections", name))
	q.w.WriteHeader(http.StatusCreated)
	return nil
}

// ofCollection is an error about what was to be a collection.
func ofCollection(err error) error {
	switch {
	case errors.Is(err, catfish.ErrOption), errors.Is(err, store.ErrName):
		return &statusError{http.StatusBadRequest, withoutPackages(err.Error())}
	case errors.Is(err, store.ErrCollectionExists), errors.Is(err, catfish.ErrKind):
		return &statusError{http.StatusConflict, withoutPackages(err.Error())}
	case errors.Is(err, catfish.ErrNotPermitted):
		return &statusError{http.StatusForbidden, withoutPackages(err.Error())}
	}
	return err
}

// replaceCollection answers to PUT.
func (q *request) replaceCollection() error {
	name := q.r.PathValue("collectionId")
	b, err := q.administers(name)
	if err != nil {
		return err
	}
	s, err := q.specIn(true, typeJSON)
	if err == nil {
		err = s.isOf(name)
	}
	if err != nil {
		return err
	}
	o := s.alter(store.CollectionOptions{})
	switch _, err := b.Features(name); {
	case errors.Is(err, store.ErrUnknownCollection):
		return q.make(b, name, o)
	case err != nil:
		return ofCollection(err)
	}
	return q.altered(b, name, o)
}

func (q *request) altered(b api.FeatureBackend, name string, o store.CollectionOptions) error {
	if _, err := q.find(access.Admin); err != nil {
		return err // It is planar.
	}
	if err := b.AlterFeatures(name, o); err != nil {
		return ofCollection(err)
	}
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}

// patchCollection answers to PATCH.
func (q *request) patchCollection() error {
	name := q.r.PathValue("collectionId")
	b, err := q.administers(name)
	if err != nil {
		return err
	}
	c, err := q.find(access.Admin)
	if err != nil {
		return err
	}
	s, err := q.specIn(false, typeMergePatch)
	if err == nil {
		err = s.isOf(name)
	}
	if err != nil {
		return err
	}
	return q.altered(b, name, s.alter(c.Options()))
}

// dropCollection answers to DELETE.
func (q *request) dropCollection() error {
	name := q.r.PathValue("collectionId")
	b, err := q.administers(name)
	if err != nil {
		return err
	}
	if _, err := q.find(access.Admin); err != nil {
		return err
	}
	ok, err := b.DropFeatures(name)
	switch {
	case err != nil:
		return ofCollection(err)
	case !ok:
		return unknownCollection(name)
	}
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}

func unknownCollection(name string) error {
	return &statusError{http.StatusNotFound, fmt.Sprintf("there is no collection %.200q; /collections has all", name)}
}

// managing are the operations of the OpenAPI document.
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
