// Package datasets provides the contents of an index and the queries on it:
// readers for map data, the generators of the Catfish paper (ICDCS 2019,
// section V), and the queries that go with them.
//
// # Items
//
// Everything is a [Source]. [Open] takes what a user typed:
//
//	src, err := datasets.Open("andorra.osm.pbf", datasets.Options{})
//	err = src.Items(func(it rstar.Item) bool {
//		insertErr = tree.Insert(it.Rect, it.ID)
//		return insertErr == nil
//	})
//
//	spec                         what
//	uniform skewed rea02-like    generators: unit square, Options.Count, .Seed
//	california                   road network that is part of the program
//	FILE.csv                     id,minx,miny,maxx,maxy or id,x,y
//	FILE.geojson .json           GeoJSON: the boxes of features
//	FILE.geojsonl .ndjson ...    the same, as a text sequence
//	FILE.pbf                     OpenStreetMap, see [OSMMode]
//	FILE.cnode .cedge            road network, the pair found by either
//	FILE                         by content: all of these, and rea02 and rec
//	FORMAT:FILE                  as said; see [Format]
//
// Sources stream; memory does not grow with the input, except for the nodes
// of an OpenStreetMap or road file (16 and about 60 bytes each, up to
// Options.MemoryBytes) and the largest feature of a GeoJSON file (up to 64
// MiB). [Collect] gathers all items, [Sample]
// some, [Shuffle] changes their order, [Bounds] measures them, [Write]
// converts. [Source.Progress] feeds a progress bar.
//
// Ids are those of the file where it has any; otherwise they count from 0 in
// its order.
//
// rea02-like is not rea02. The real set (Beckmann and Seeger) is read from a
// file in either of its encodings. The generator imitates its structure for
// users without the file, and figures measured on it are not those of the real
// set.
//
// # Queries
//
// [Queries] makes the rectangles of the paper's searches by [Scale];
// [SkewedInserts] and [UniformRects] make those of its inserts. Each is a
// function to call once per operation, determined by a seed and a stream
// number, one per client. [QuerySet] has the queries of the rea02
// benchmark.
//
// All random data is equal on every machine, to the last bit, and remains so:
// random.go says how, and tests pin it by hashes.
//
// # Bad input
//
// Nothing panics on input. A [ReadError] gives file, line or offset, and how
// many items had been delivered, which remain delivered; errors.Is
// distinguishes [ErrTruncated], [ErrSyntax], [ErrUnsupported], [ErrTooLarge]
// and rstar.ErrBadRect. Reading again is safe, and useless before the input has
// changed.
//
// To read the source, begin with source.go and open.go; each format and
// generator then has its own file. Package places reads GeoJSON; the objects of
// an OpenStreetMap file come from internal/input.
package datasets
