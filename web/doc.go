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
//	/engine, /engine/events, /engine/load        with Options.Engine (docs/engine.md)
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
// The budget of a request's source (package budget) counts what the request holds: its
// body, its search's results, and its answer until the client has taken it. The features of
// an answer take 8 MiB at most, except for a single larger one: a full page ends there,
// with a link to the next. A client that takes none of its answer for IdleTimeout loses its
// connection. An upload of many features is stored while it arrives and has no time limit:
// it takes a place among the streams. Searches share scheduling slots with other long work,
// as those of gRPC do (turns.Pacer).
//
// # Reading the source
//
// options.go and server.go (life cycle), conns.go, handshake.go, routes.go, request.go, body.go and linger.go
// (bounds, keys), problem.go (errors), cors.go and misdirected.go (browsers), negotiate.go and params.go
// (parameters), bbox.go, datetime.go, properties.go and filter.go (conditions),
// items.go, page.go, walk.go and nearest.go (searches), events.go, areas.go and sse.go, tiles.go,
// tilesets.go and counts.go, engine.go, feature.go, collections.go, manage.go and collectionspec.go, schema.go, links.go,
// openapi.go, coding.go and compress.go, write.go, patch.go, condition.go, etag.go and ttl.go (Part 4), bulk.go,
// bulkstore.go, split.go, splitjson.go and bulkanswer.go (many features), removewhere.go, html.go,
// app.go.
package web
