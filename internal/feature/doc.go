// Package feature represents a place: a geometry and properties, their bytes,
// GeoJSON in and out, and exact answers to where it lies. Servers, and clients
// that search by offloading, use the same functions, so that both answer alike.
//
// A feature is written in three steps, and read in two:
//
//	f, err := feature.Decode(json, options)               // GeoJSON in
//	b, err := feature.Append(nil, f.Geometry, f.Properties) // its bytes
//	boxes := view.Boxes(nil)                              // what a tree holds
//
//	view, err := feature.Parse(b)                         // bytes from a peer
//	query.Match(view)                                     // exact test
//
// Geometries from sources other than Decode must pass through [Normalise]. The
// id is not in the bytes, nor expiry and revision: they belong to the record
// around them.
//
// # Spaces
//
// A collection is [Geographic] (longitude and latitude in degrees on a sphere;
// distances in metres) or [Planar] (any unit; distances in it). In both spaces
// edges are straight between their coordinates (RFC 7946, section 3.1.1), which
// on the sphere is not the shortest way. Longitudes wrap: a geometry that
// crosses 180 degrees is cut there (section 3.1.9), so that all stored
// longitudes are from -180 to 180 and no box has west > east.
//
// # Concurrency
//
// All functions are pure. A [View] and a prepared [Query] may be used by many
// goroutines at once.
package feature
