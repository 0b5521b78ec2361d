package web

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/catfish/model"
)

// maxEnum bounds the names of collections in the document.
const maxEnum = 1000

// operation is one method of a path, as the document has it.
type operation struct {
	path, method, id, summary string
	params                    []string // names in the components
	answer                    string   // a response in the components
	status                    int      // the answer's status; 0: 200
	body                      object   // content of the request, nil: none
	errors                    []int    // besides the common ones
	public                    bool
	form                      string         // the only media type; empty: JSON and HTML
	also                      map[int]string // other responses, in the components
	optional                  bool           // the body is optional
}

// reads are the operations of Part 1.
var reads = []operation{
	{path: "/", method: "get", id: "getLandingPage", summary: "What there is", answer: "LandingPage", public: true},
	{path: "/conformance", method: "get", id: "getConformance", summary: "The conformance classes", answer: "Conformance", public: true},
	{path: "/api", method: "get", id: "getApi", summary: "This document", answer: "API"},
	{path: "/collections", method: "get", id: "getCollections", summary: "The collections", answer: "Collections"},
	{path: "/collections/{collectionId}", method: "get", id: "describeCollection", summary: "One collection",
		params: []string{"collectionId"}, answer: "Collection", errors: []int{404}},
	{path: "/collections/{collectionId}/schema", method: "get", id: "getSchema", summary: "JSON Schema of a collection's features",
		params: []string{"collectionId"}, answer: "Schema", errors: []int{404}},
	{path: "/collections/{collectionId}/queryables", method: "get", id: "getQueryables", summary: "What filters may be about",
		params: []string{"collectionId"}, answer: "Schema", errors: []int{404}},
	{path: "/collections/{collectionId}/items", method: "get", id: "getFeatures", summary: "Features, page by page",
		params: []string{"collectionId", "bbox", "datetime", "limit", "after", "numberMatched", "filter", "filter-lang", "filter-crs", "properties"},
		answer: "Features", errors: []int{404}},
	{path: "/collections/{collectionId}/items/{featureId}", method: "get", id: "getFeature", summary: "One feature",
		params: []string{"collectionId", "featureId", "If-None-Match"}, answer: "Feature", errors: []int{404}},
}

// writes are the operations of Part 4.
var writes = []operation{
	{path: "/collections/{collectionId}/items", method: "post", id: "createFeature", summary: "A new feature, or many",
		params: []string{"collectionId", "ttl"}, answer: "Created", status: 201, also: map[int]string{200: "Uploaded"},
		body: uploadBody(), errors: []int{404, 408, 409, 413, 415, 422, 507}},
	{path: "/collections/{collectionId}/items", method: "delete", id: "deleteFeatures", summary: "Deletes the features of a condition",
		params: []string{"collectionId", "bbox", "filter", "filter-lang", "filter-crs", "properties"}, answer: "DeletedFeatures", errors: []int{404}},
	{path: "/collections/{collectionId}/items/{featureId}", method: "put", id: "replaceFeature", summary: "Makes a feature so",
		params: []string{"collectionId", "featureId", "If-Match", "IfAbsent", "ttl"}, answer: "Written", status: 204, also: map[int]string{201: "Created"},
		body: object{typeGeoJSON: object{"schema": ref("schemas", "Feature")}}, errors: []int{404, 412, 413, 415, 422, 507}},
	{path: "/collections/{collectionId}/items/{featureId}", method: "patch", id: "updateFeature",
		summary: "Changes properties and the geometry (RFC 7396)", params: []string{"collectionId", "featureId", "If-Match", "ttl"},
		answer: "Written", status: 204, body: object{typeMergePatch: object{"schema": object{"type": "object"}}},
		errors: []int{404, 412, 413, 415, 422, 507}},
	{path: "/collections/{collectionId}/items/{featureId}", method: "delete", id: "deleteFeature", summary: "Deletes a feature",
		params: []string{"collectionId", "featureId", "If-Match"}, answer: "Deleted", status: 204, errors: []int{404, 412}},
}

// operations are the operations of this server.
func (s *Server) operations() []operation {
	all := slices.Concat(reads, managing, tiled, live, writes)
	if s.o.Engine != nil {
		all = append(all, engineOperations...)
	}
	return all
}

// api answers with the OpenAPI document.
func (q *request) api() error {
	html, err := q.html(typeOpenAPI, "application/openapi+json", typeJSON)
	if err != nil {
		return err
	}
	if err := q.params.end("f"); err != nil {
		return err
	}
	if html {
		type row struct{ Path, Method, Summary string }
		var rows []row
		for _, o := range q.operations() {
			rows = append(rows, row{o.path, strings.ToUpper(o.method), o.summary})
		}
		return q.sendHTML("api", view{Title: "API", Links: q.selfAndAlternate(true, typeOpenAPI, "api"), Data: rows})
	}
	served, err := q.served()
	if err != nil {
		return err
	}
	var names []string
	for _, c := range served {
		names = append(names, c.Name())
	}
	return q.sendJSON(typeOpenAPI, q.document(names))
}

// with adds the entries of b to a.
func with(a, b object) object {
	maps.Copy(a, b)
	return a
}

func ref(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }

// document is the OpenAPI document.
func (q *request) document(collections []string) object {
	paths := object{}
	for _, o := range q.operations() {
		p, _ := paths[o.path].(object)
		if p == nil {
			p = object{}
			paths[o.path] = p
		}
		p[o.method] = q.operation(&o)
	}
	answers, shapes := with(with(responses(), liveResponses()), tiledResponses()), schemas()
	answers, shapes = with(with(answers, managingResponses()), uploadResponses()), with(with(with(shapes, managingSchemas()), uploadSchemas()), liveSchemas())
	if q.o.Engine != nil {
		answers, shapes = with(answers, roomResponses()), with(shapes, roomSchemas())
	}
	about := q.o.Description
	def(&about, "Features over HTTP, by OGC API - Features")
	info := object{"title": q.o.Title, "version": model.Version, "description": about}
	d := object{
		"openapi": "3.0.3", "info": info, "servers": []object{{"url": q.base()}}, "paths": paths,
		"tags": []object{{"name": "capabilities", "description": "What there is"}, {"name": "data", "description": "Features"}},
		"components": object{
			"parameters": with(with(with(q.parameters(collections), liveParameters()), tiledParameters()), uploadParameters()),
			"responses":  answers, "schemas": shapes,
		},
	}
	if q.o.Keys != nil {
		d["components"].(object)["securitySchemes"] = object{
			"bearer": object{"type": "http", "scheme": "bearer"},
			"header": object{"type": "apiKey", "in": "header", "name": "X-API-Key"},
			"basic":  object{"type": "http", "scheme": "basic", "description": "any name, the key as password"},
		}
	}
	return d
}

func (q *request) operation(o *operation) object {
	status := o.status
	def(&status, http.StatusOK)
	answers := object{fmt.Sprint(status): ref("responses", o.answer)}
	errs := append([]int{400, 406, 429, 500, 503}, o.errors...)
	if q.o.Keys != nil && !o.public {
		errs = append(errs, 401, 403)
	}
	if q.o.Keys == nil {
		errs = append(errs, 421) // a page whose name resolves to this server
	}
	if o.method != "get" {
		errs = append(errs, 403) // from a page of another web site
	}
	for _, e := range errs {
		answers[fmt.Sprint(e)] = ref("responses", "Problem")
	}
	for code, answer := range o.also {
		answers[fmt.Sprint(code)] = ref("responses", answer)
	}
	if slices.Contains(o.params, "If-None-Match") {
		answers["304"] = object{"description": "It is as the client has it"}
	}
	if o.form == typeMVT {
		answers["204"] = object{"description": "Nothing is there"}
	}
	parameters := []object{}
	for _, p := range o.params {
		parameters = append(parameters, ref("parameters", p))
	}
	if o.method == "get" && o.form == "" {
		parameters = append(parameters, ref("parameters", "f"))
	}
	op := object{
		"operationId": o.id, "summary": o.summary, "description": abouts[o.id], "parameters": parameters, "responses": answers, "tags": []string{"data"},
	}
	if !strings.Contains(o.path, "items") && !slices.Contains(o.params, "filter") {
		op["tags"] = []string{"capabilities"}
	}
	if o.body != nil {
		op["requestBody"] = object{"required": !o.optional, "content": o.body}
	}
	op["security"] = []object{}
	if q.o.Keys != nil && !o.public {
		op["security"] = []object{{"bearer": []string{}}, {"header": []string{}}, {"basic": []string{}}}
	}
	return op
}
