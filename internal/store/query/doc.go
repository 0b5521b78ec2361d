// Package query says what can be asked of a collection of features, and what is
// found: a Query or NearestQuery, prepared for a space, decides about one feature. It
// needs no store, so a client that reads features itself decides by the same code.
//
//	query.go        Query, and Prepared, which decides; area.go: a part of the space
//	nearest.go      NearestQuery; sofar.go: the nearest features met so far
//	feature.go      a Feature; found.go: one that a search has found, in bytes; fields.go
//	event.go        what a write means for a watched area
//	description.go  options of a collection, and what its features look like
//	refusal.go      errors of package kv in words of features
package query
