// Package catfish is the public library of Catfish, a database of places: points,
// lines and areas with properties, found by area, by distance and by what their
// properties say, and watched as they move.
//
// Open opens places in this process, in a directory or in memory alone; Dial connects
// to a server ('catfish serve'). Both give the same *Features for a collection:
//
//	c, err := catfish.Open(ctx, "data", catfish.LocalOptions{}) // or catfish.Dial(ctx, "127.0.0.1:7119", catfish.Options{})
//	err = c.CreateFeatures(ctx, "cafes", catfish.FeaturesOptions{}) // unless it exists
//	cafes, err := c.Features("cafes")
//	id, revision, err := cafes.Put(ctx, catfish.Feature{ID: "sol", Geometry: orb.Point{1.52, 42.51},
//		Properties: []byte(`{"seats": 20}`)}, catfish.Condition{})
//	for f, err := range cafes.Nearest(ctx, catfish.NearestQuery{X: 1.52, Y: 42.51, K: 10, Filter: "properties.seats > 10"}) { ... }
//	for f, err := range cafes.Search(ctx, catfish.FeatureQuery{Area: catfish.Circle(1.52, 42.51, 500)}) { ... }
//	for e, err := range cafes.Watch(ctx, catfish.WatchQuery{Query: catfish.FeatureQuery{Area: catfish.Box(1.5, 42.5, 1.6, 42.6)}}) { ... }
//
// Geometries are those of github.com/paulmach/orb. Callers distinguish errors with
// errors.Is: ErrNotFound, ErrExists, ErrConflict, ErrUnknownCollection and the others
// below. Filters are described in docs/filters.md. Package daemon serves places over HTTP,
// and package api over gRPC, also within the caller's own program.
//
// # Boxes and records
//
// A collection may instead have rectangles with numbers, in an R*-tree (Client.Insert,
// Client.Search, Client.Nearest, of package rstar), or values by key (Client.Records).
//
// A Server, made by NewServer, has collections of all three kinds. 'catfish serve' runs
// a Server.
//
// # Servers and clients
//
// A client searches by fast messaging, to which the server answers, or by offloading: the
// client reads the server's registered memory by RDMA or shared memory, and walks the
// tree there. It chooses per search.
//
//	client                                    server
//	------                                    ------
//	Client --- fastmsg ring ----------------> worker --> rstar.Tree, store.Store
//	   |   <-- answers, heartbeat mailbox --     |
//	   |                                      slab (registered memory)
//	   +------ read channels: RDMA Reads --------^
//
// # Promises
//
// On every path a search returns each place or box that existed during
// the whole search exactly once, none that was absent during the whole
// search, and sees every write acknowledged before it began. An atomic
// snapshot across objects is not promised. Searches are retried when the
// connection breaks; a write whose answer was lost ends with
// ErrUnknownOutcome, one that was never sent with ErrNotSent.
//
// # Packages
//
// The names here are aliases, in one place for programs that use both sides: package
// client has Dial and Client, package server NewServer, Server and Open, and package
// model what both share: places, queries, events, options, statistics, errors. A
// program that only connects to servers may import client and model, which link
// neither the store's disk nor a server.
package catfish
