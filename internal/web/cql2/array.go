package cql2

import "github.com/catfish-index/catfish/internal/feature/filter"

// Array functions compare arrays as sets: the number and the order of equal elements do
// not matter. An array is a property or a list of literals. The elements of an object
// are its names, as for package filter's "in". A value that is no array makes a function
// unknown, and its negation too.

const (
	opContains    = "a_contains"
	opContainedBy = "a_containedBy"
	opEquals      = "a_equals"
	opOverlaps    = "a_overlaps"
)

// arrays are the relations of array functions.
var arrays = map[string]filter.Relation{
	opContains: filter.Contains, opContainedBy: filter.Contained, opEquals: filter.Equals, opOverlaps: filter.Overlaps,
}

func (t *translator) arrays(n *node) filter.Test {
	a, b := t.array(n.args[0]), t.array(n.args[1])
	t.spend(n, testBytes)
	return t.tree.Sets(a, arrays[n.op], b)
}

func (t *translator) array(n *node) (a filter.Array) {
	switch n.form {
	case property:
		return filter.Array{Of: t.operand(n).Operand}
	case list:
	default:
		t.fail(n, "%v, want a property, or a list such as ('a', 'b')", n)
	}
	a.Elements = []filter.Operand{}
	for _, e := range n.args {
		switch e.form {
		case character, numeral, boolean:
			a.Elements = append(a.Elements, t.operand(e).Operand)
		default:
			t.fail(e, "%v, want a text, a number, TRUE or FALSE in an array", e)
		}
	}
	return a
}
