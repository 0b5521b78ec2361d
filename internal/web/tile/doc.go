// Package tile draws collections of features as vector tiles: Mapbox Vector Tiles
// 2.1 in Web Mercator, which MapLibre, QGIS and others read.
//
//	b := tile.Builder{}
//	t, err := b.Tile(ctx, collection, z, x, y, tile.Options{})  // t.Data, t.ETag
//
// A tile has one layer with the collection's name, of 4096 units to a side, and includes
// geometry up to 64 units beyond its borders. It is drawn in one of these ways:
//
//	few features     each is clipped, projected, simplified to a quarter of a pixel
//	many features    those of the tree's boxes that are small are counted by cells of a
//	                 grid, and a cell is a point with their number; those that are
//	                 large, or alone in their cell, are drawn
//	still too large  the same with cells twice as wide, and lines half as exact, until
//	                 it fits; at last one cell has all, and nothing is drawn
//
// No tile has more than MaxBytes. The same state of a collection gives the same
// bytes, independent of the order of the writes.
//
// # How a feature is drawn
//
// Its id is the property "id"; one that is a decimal number is the feature's
// MVT id, too. Strings, numbers and booleans of its properties keep their
// types, arrays and objects become their JSON text, null is left out. A part of
// a line or polygon that is smaller than a pixel (8 units) is left out, or is a
// point if nothing else of the feature is drawn. A geometry collection becomes
// up to three features: its points, its lines, its polygons.
//
// A cluster is a point in the middle of its cell, without "id", with "cluster" true
// and "point_count": the number of boxes of the tree in the cell. A feature of many
// parts or positions may have several boxes (feature.View.Boxes), and counts for
// each; an expired one counts until it is removed. With a filter features are
// counted, once, and expired ones are not; of very many a sample.
//
// Latitudes beyond 85.0511 degrees are cut off, as everywhere in Web Mercator. Edges
// are cut at a tile's borders where they are straight in longitude and latitude, and
// then drawn straight in Mercator. Simplified rings may touch or cross themselves by
// less than a pixel.
//
// # Reading order
//
// area.go has a tile's area, shape.go the drawing of a geometry (clip.go,
// simplify.go, thin.go), layer.go and value.go the bytes, build.go, clusters.go and
// sample.go the contents of a tile, counts.go the numbers of features by cells, and
// cache.go how tiles are cached and why none is stale.
package tile
