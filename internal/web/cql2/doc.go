// Package cql2 reads filters in OGC CQL2 (21-065r2), as text and as JSON, and compiles
// them to what a store searches by: a tree of tests (filter.Tree) and an area.
//
//	kind = 'cafe' AND seats BETWEEN 20 AND 50
//	CASEI(name) LIKE CASEI('A%') OR NOT (level IN (1, 2) OR roof IS NULL)
//	S_INTERSECTS(geometry, POLYGON((1 42, 2 42, 2 43, 1 42)))
//	S_WITHIN(geometry, BBOX(1, 42, 2, 43)) AND updated > TIMESTAMP('2024-05-01T00:00:00Z')
//	T_INTERSECTS(INTERVAL(opened, closed), INTERVAL('2024-05-01', '..'))
//	S_DWITHIN(geometry, POINT(1.5 42.5), 500)
//	addr.city = 'Graz' AND A_CONTAINS(diets, ('vegan', 'halal'))
//
//	{"op":"and","args":[{"op":"=","args":[{"property":"kind"},"cafe"]},
//	  {"op":"s_within","args":[{"property":"geometry"},{"bbox":[1,42,2,43]}]}]}
//
// # Supported operators
//
// AND, OR, NOT and parentheses; = <> < > <= >= between properties and literals;
// BETWEEN, IN, LIKE (% and _, escaped by a backslash), IS NULL,
// each with NOT; CASEI; A_CONTAINS, A_CONTAINEDBY, A_EQUALS and A_OVERLAPS of properties
// and lists of texts, numbers and booleans; properties in objects (property.go);
// S_INTERSECTS, S_DISJOINT, S_WITHIN and S_CONTAINS of the
// property geometry with a POINT, POLYGON, MULTIPOLYGON or BBOX; S_DWITHIN, which
// CQL2 does not have, of a POINT and metres; and all temporal predicates, of
// properties, literals and INTERVALs. Literals are numbers, 'text', TRUE, FALSE,
// DATE('2024-05-01') and TIMESTAMP('2024-05-01T12:00:00Z'). Not supported: arithmetic,
// other functions, ACCENTI, and the other spatial predicates and geometries.
//
// # Null
//
// As in SQL, a comparison with a value that a feature lacks is neither true nor false,
// and so is its negation; a filter selects the features for which the whole is true.
// The tests of a filter.Tree have these three values.
//
// # Reading the source
//
// node.go: the syntax tree of both forms. Text: lex.go, parse.go, operand.go, wkt.go.
// JSON: json.go, geojson.go. Then translate.go, operands.go, property.go, like.go,
// array.go, spatial.go and temporal.go. expr.go is the result.
package cql2
