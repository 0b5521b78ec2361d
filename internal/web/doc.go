// Package web serves collections of features over HTTP, by the standard OGC API -
// Features: Part 1 (Core, GeoJSON, HTML, OpenAPI 3.0; OGC 17-069r4), Part 3
// (Filtering, with CQL2 text and JSON; OGC 19-079r2) and Part 4 (Create, Replace, Update and
// Delete; OGC 20-002r1). docs/http.md shows it by example.
//
//	/                                            landing page; for browsers a map (package app)
//	/conformance                                 conformance classes
//	/api                                         OpenAPI 3.0 of all this
//	/collections                                 the collections; create
//	/collections/{collectionId}                  one of them; create, alter, drop
//	/collections/{collectionId}/schema           JSON Schema of its features
//	/collections/{collectionId}/queryables       what filters may use
//	/collections/{collectionId}/items            features, page by page; create one or many, delete by condition
//	/collections/{collectionId}/items/{featureId}
//	/collections/{collectionId}/tiles            vector tiles (OGC API - Tiles Part 1, TileJSON)
//	/collections/{collectionId}/counts           numbers of features by cells, not of the standard
//	/collections/{collectionId}/nearest          features around a point, not of the standard
//	/collections/{collectionId}/events           writes from now on, not of the standard
//	/healthz, /readyz                            probes (probes.go)
//	/engine, /engine/events, /engine/load        with Options.Engine (docs/page.md)
//
// Collections in a planar space are not served: the standard's only reference
// system, without its Part 2, is WGS 84 longitude and latitude.
//
// # Pages
//
// Features come in the order of the bytes of their ids, and the link to the next page
// names the last id of this one (parameter after). So writes made meanwhile shift no
// page: a feature that exists throughout is on exactly one page.
//
// # Bounds
//
// The budget of a request's source (package limits) counts what the request holds: its
// body, its search's results, and its answer until the client has taken it. The features of
// an answer take 8 MiB at most, except for a single larger one: a full page ends there,
// with a link to the next. A client that takes none of its answer for IdleTimeout loses its
// connection. An upload of many features is stored while it arrives and has no time limit:
// it takes a place among the streams. Searches share scheduling slots with other long work,
// as those of gRPC do (limits.Pacer).
//
// # Files
//
// A request comes by server.go to routes.go, which has the table of paths and methods and
// checks the key; its handler is a method of request, and returns nil or an error, of which
// problem.go makes the answer.
//
// Every request:
//
//	options.go      Options; server.go: Serve, Close; conns.go: connections
//	routes.go       paths, methods, time limits; probes.go: /healthz, /readyz
//	request.go      what a request holds, and its budget; body.go; linger.go: bodies of refused requests
//	problem.go      errors and their statuses (most by package status); refusal.go: answers of 503
//	cors.go         pages of other web sites; misdirected.go: the server's names
//	forward.go      to the primary of the group
//	params.go       parameters of the query; number.go; negotiate.go: media types
//	coding.go       content codings; compress.go: how answers are compressed
//	links.go        links, and JSON answers; html.go: pages for people; app.go: the map
//
// Conditions on features:
//
//	conditions.go   all that a request states: bbox.go, datetime.go, properties.go, filter.go
//	etag.go         revisions as ETags; preconditions.go: If-Match and If-None-Match of writes
//
// Reading:
//
//	items.go        a page of features, its answer; page.go: its contents; walk.go: in the order of ids; pagegroups.go
//	feature.go      one feature; nearest.go: those around a point
//	collections.go  the landing page, collections; schema.go: schemas and queryables
//	tiles.go        tiles, which package tile draws and caches (cache.go there)
//	tilesets.go     descriptions of tiles; tilematrix.go: WebMercatorQuad; counts.go: numbers by cells
//	events.go       the stream of an area's events; areas.go: several; eventposition.go: ids; sse.go: the format
//	openapi.go      the OpenAPI document, in parts: openapi*.go
//	engine.go       the engine room
//
// Writing:
//
//	write.go        POST and PUT of a feature; patch.go; removewhere.go: DELETE by condition; ttl.go: expiry
//	bulk.go         uploads of many; split.go, splitjson.go: cut into features; bulkstore.go; bulkanswer.go
//	manage.go       creates, alters and drops collections; collectionspec.go: what the body says
package web
