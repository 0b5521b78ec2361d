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
//	geojsonseq  one of these a line, or behind record separators (RFC 8142)
//	csv         columns found by name; other columns become properties
//	pbf, osm    OpenStreetMap: tagged nodes, ways, multipolygons, boundaries
//	fgb         FlatGeobuf
//
// The content says which it is, also packed by gzip or zstd, and from standard
// input. The first three can be written.
//
// # Errors
//
// A record that breaks a rule of its format is left out and counted, and the
// first ten are kept with their place and reason; with Options.Strict the first
// one ends reading. What leaves open where the next record begins, such as a
// file that is cut, always ends it. Nothing panics on input. Errors wrap those
// of package datasets.
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
// Begin with reader.go and open.go. Each format has files of its own, of which
// osm.go with rings.go and nesting.go is the most work.
package places
