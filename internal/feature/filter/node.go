package filter

import (
	"slices"

	"github.com/catfish-index/catfish/internal/feature/filter/internal/props"
)

// A tree
//
// Most filters compare some properties with literals:
//
//	properties.kind == "cafe" && properties.seats > 20
//
//	        and                     fields    0 properties kind
//	       /   \                              1 properties seats
//	 equal      greater
//	 0 "cafe"   1 20
//
// Such an expression becomes a tree of tests. Evaluating it reads the
// properties once, up to the last name that it needs, and allocates nothing. It
// answers as CEL does. Expressions that the tree does not support are left to
// CEL (package cel, whose tests compare both).

// Op is the operation of a node of the tree.
type Op uint8

// Operations of Test.
const (
	opAnd Op = iota
	opOr
	opNot
	OpTrue // the field, as a condition: properties.open
	OpHas
	OpEqual
	OpNotEqual
	OpLess
	OpLessEqual
	OpGreater
	OpGreaterEqual
	OpIn       // the field is one of the literals
	OpContains // the field is a list, or an object, that contains the literal
	OpStartsWith
	OpEndsWith
	OpHasText // the field is a string that contains the literal

	// Tests of other languages than CEL (package internal/web/cql2).
	opCompared // left with right, by how; unknown if either is null
	opAmong    // left is one of the literals; unknown if it is null
	opNull
	opTime // left is a time
	opLike
	opSets // left and right as sets, by how
	opPlace
	opConstant // yes if left is not 0
)

// node is a test. Children come before their parents.
type node struct {
	op          Op
	left, right int // and, or, not: indexes of nodes
	field       field
	literals    []props.Value // one, except for OpIn
	more        *more         // of tests of other languages
}

// field is what a test reads.
type field struct {
	variable string   // "id", "type", "revision"; "": a property
	slot     int      // properties: which of Tree.names
	path     []string // properties: names below it
}

// maxNames are found in one pass and kept on the stack, where reserving 8 costs some
// nanoseconds. Further ones are looked up one by one.
const maxNames = 8

// property returns the field of a property.
func (t *Tree) property(name string) field {
	i := slices.Index(t.names, name)
	if i < 0 {
		i = len(t.names)
		t.names = append(t.names, name)
	}
	return field{slot: i}
}
