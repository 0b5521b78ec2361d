// Package web serves collections of features over HTTP, by the standard OGC API -
// Features: Part 1 (Core, GeoJSON, HTML, OpenAPI 3.0; OGC 17-069r4), Part 3
// (Filtering, with CQL2 text and JSON; OGC 19-079r2) and Part 4 (Create, Replace, Update and
// Delete; OGC 20-002r1). docs/http.md shows it by example.
//
//	/                                            landing page; for browsers a map (package app)
//	/conformance                                 what of the standard it has
//	/api                                         OpenAPI 3.0 of all this
//	/collections                                 what is served; create
//	/collections/{collectionId}                  one of them; create, alter, drop
//	/collections/{collectionId}/schema           JSON Schema of its features
//	/collections/{collectionId}/queryables       what filters may be about
//	/collections/{collectionId}/items            features, page by page; create one or many, delete by condition
//	/collections/{collectionId}/items/{featureId}
//	/collections/{collectionId}/tiles            vector tiles (OGC API - Tiles Part 1, TileJSON)
//	/collections/{collectionId}/counts           how many by cells, not of the standard
//	/collections/{collectionId}/nearest          features around a point, not of the standard
//	/collections/{collectionId}/events           what is written from now on, not of the standard
//	/healthz, /readyz                            probes (probes.go)
//	/engine, /engine/events, /engine/load        with Options.Engine (docs/engine.md)
//
// Collections in a planar space are not served: the standard's only reference
// system, without its Part 2, is WGS 84 longitude and latitude.
//
// # Pages
//
// Features come in the order of the bytes of their ids, and the link to the next
// page names the last id of this one (parameter after). So what is written
// meanwhile moves nothing: what was there throughout is on exactly one page.
//
// # Bounds
//
// A request counts in the budget of its source (package budget) with what it
// holds: its body, what its search has found, and its answer until the client has
// taken it. The features of an answer take 8 MiB at most, or there is a single one: a
// page that is full ends there, with a link to the next. A client that takes none of its
// answer for IdleTimeout loses its connection. An upload of many features is stored as
// it comes, and has no end in time: it takes a place among the streams. Searches take turns with others
// that take long, as those of gRPC do (turns.Pacer).
//
// # Reading the source
//
// options.go and server.go (life cycle), conns.go, handshake.go, routes.go, request.go, body.go and linger.go
// (bounds, keys), problem.go (errors), cors.go and misdirected.go (browsers), negotiate.go and params.go (what is
// asked for), bbox.go, datetime.go, properties.go and filter.go (conditions),
// items.go, page.go, walk.go, whole.go and nearest.go (searches), events.go, areas.go and sse.go, tiles.go,
// tilesets.go and counts.go, engine.go, feature.go, collections.go, manage.go and collectionspec.go, schema.go, links.go,
// openapi.go, coding.go and compress.go, write.go, patch.go, condition.go, etag.go and ttl.go (Part 4), bulk.go,
// bulkstore.go, split.go, splitjson.go and bulkanswer.go (many features), removewhere.go, html.go,
// app.go.
package web
