// Package places reads files of places, and writes them: an id, a geometry and
// properties each. docs/files.md has the formats and their rules in full.
//
//	r, err := places.Open("cafes.csv.gz", places.Options{ID: "ref"})
//	if err != nil { ... }
//	defer r.Close()
//	for p, err := range r.All() {
//		if err != nil { ... }
//		use(p.ID, p.Geometry, p.Properties)
//	}
//	for _, bad := range r.Bad() { ... }
//
//	format      what
//	geojson     FeatureCollection, Feature or geometry (RFC 7946), streamed
//	geojsonseq  one of these a line, or after record separators (RFC 8142)
//	csv         columns found by name; other columns become properties
//	pbf, osm    OpenStreetMap: tagged nodes, ways, multipolygons, boundaries
//	fgb         FlatGeobuf
//
// The content determines the format, also if it is packed by gzip or zstd, or comes
// from standard input. The first three can be written. [GeoJSONBounds] reads the boxes
// of features only; package datasets makes items of them.
//
// # Errors
//
// A record that breaks a rule of its format is left out and counted, and the
// first ten are kept with their position and reason; with Options.Strict the first
// one ends reading. An error that leaves open where the next record begins, such as
// a truncated file, always ends it. No input causes a panic. Errors wrap those of
// package datasets.
//
// # Memory
//
// One record at a time is in memory: up to 64 MiB of GeoJSON or FlatGeobuf, 16
// MiB of CSV, one block of PBF. OpenStreetMap's objects refer to each other, so
// positions of all nodes (16 bytes each) and nodes of all ways (16 bytes a way,
// about 2 for each of its nodes) are kept, up to Options.MemoryBytes.
//
// # Reading the source
//
// Begin with reader.go and open.go. Each format has files of its own; the most
// complex are osm.go with rings.go and nesting.go.
package places
