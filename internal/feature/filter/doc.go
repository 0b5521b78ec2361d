// Package filter decides which features pass a condition. A Program is one: a Tree of
// tests of properties, which it reads in place, or what a Tree cannot say, in the
// language of an Evaluator. Package cel compiles CEL, the language of clients, and
// package internal/web/cql2 compiles CQL2. A client that reads features by offloading needs no
// more than this package, besides a compiler.
//
// # Unknown
//
// A member that a feature does not have is unknown, as NULL is to SQL, and a feature
// passes only if the condition is true: false && unknown is false, true || unknown is
// true, on either side; anything else with unknown is unknown, negation included.
//
// # Errors and limits
//
// An evaluation fails with ErrCost when it takes more than its limit, and with
// ErrProperties when it reads properties that are not JSON, whatever else the condition
// says. It does not check what it does not read. Of several members of one name the
// first counts.
//
// MatchIn is divided into steps of less than a millisecond (package props).
package filter
