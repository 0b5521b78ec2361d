// Package cel compiles conditions such as
//
//	properties.kind == "cafe" && properties.seats > 20
//
// in CEL (cel.dev) to programs of package filter: a tree of tests, if they only compare
// properties with literals, or what CEL itself evaluates. Both parse only the members
// that the condition names. The same program runs on a server and on a client that reads
// features by offloading: the client sends the text.
//
// The variables:
//
//	properties  the feature's JSON object
//	id          string
//	type        string, the geometry's type ("Point"); "" if it has none
//	revision    int
//	expires     timestamp, or null if the feature does not expire
//	now         timestamp
//
// The language is CEL with optional syntax (properties.?name), with a function
// foldCase of strings (Unicode's full case folding), with the macros has, all,
// exists, exists_one and filter, but without map, and without variables of
// macros in list and map literals (bounds.go says why). Numbers of properties
// are int if they are written without point and exponent and fit one (or uint),
// otherwise double. All kinds of numbers compare with each other; arithmetic
// does not mix them.
//
// # Missing and null
//
// A member that a feature does not have is unknown, as NULL is to SQL, and a
// feature passes only if the condition is true:
//
//	condition                      x missing   x null   x is 5   x is "five"
//	properties.x == 3              unknown     false    false    false
//	properties.x != 3              unknown     true     true     true
//	properties.x > 3               unknown     unknown  true     unknown
//	!(properties.x > 3)            unknown     unknown  false    unknown
//	properties.x == null           unknown     true     false    false
//	properties.x in [3, 5]         unknown     false    true     false
//	has(properties.x)              false       true     true     true
//	!has(properties.x)             true        false    false    false
//	properties.x                   unknown     unknown  unknown  unknown
//	properties.?x.orValue(9) > 3   true        unknown  true     unknown
//
//	false && unknown is false, true || unknown is true, on either side;
//	anything else with unknown is unknown, negation included
//
// Operations that do not fit are unknown, too: an order between a number and a
// string, a method of strings on a number, an index past a list, a division by
// 0. This is CEL's handling of errors; only the last step, that an error is no
// match, is this package's.
//
// # Errors and limits
//
// Compile returns a *filter.Error with line, column and message. The expression is
// bounded (Options), and what CEL evaluates as trees are: see bounds.go and steps.go.
package cel
