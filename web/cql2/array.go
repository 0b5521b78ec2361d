package cql2

import "strings"

// Array functions compare arrays as sets: the number and the order of equal elements do
// not matter. An array is a property or a list of literals. The elements of an object
// are its names, as for package filter's "in".
//
//	A_CONTAINS(tags, ('a', 'b'))      "a" in tags && "b" in tags
//	A_OVERLAPS(tags, ('a', 'b'))      "a" in tags || "b" in tags
//	A_CONTAINEDBY(tags, ('a', 'b'))   tags.all(e, e in ["a", "b"])
//	A_CONTAINS(tags, more)            more.all(e, e in tags)
//
// A value that is no array makes a function unknown, and its negation too: "in" and all
// then fail, unlike comparisons with null, for which negations are pushed down elsewhere.

const (
	opContains    = "a_contains"
	opContainedBy = "a_containedBy"
	opEquals      = "a_equals"
	opOverlaps    = "a_overlaps"
)

var arrays = []string{opContains, opContainedBy, opEquals, opOverlaps}

// array is an argument of an array function.
type array struct {
	own   string   // a property, in the language of package filter; empty: a list
	elems []string // elements of a list
}

func (t *translator) arrays(n *node, neg bool) *Expr {
	a, b := t.array(n.args[0]), t.array(n.args[1])
	var holds string
	switch n.op {
	case opContains:
		holds = contains(a, b)
	case opContainedBy:
		holds = contains(b, a)
	case opEquals:
		holds = contains(a, b) + " && " + contains(b, a)
	default:
		holds = overlaps(a, b)
	}
	if neg {
		holds = "!(" + holds + ")"
	}
	// An array that need not be evaluated must be an array, too.
	must := ""
	for i, x := range []array{a, b} {
		if other := []array{b, a}[i]; x.own != "" && (other.own != "" || len(other.elems) == 0) {
			must += x.own + ".all(e, true) && "
		}
	}
	if must != "" {
		holds = parenthesised(And, holds)
	}
	return t.cond(must, holds)
}

func (t *translator) array(n *node) (a array) {
	switch n.form {
	case property:
		return array{own: t.operand(n).own}
	case list:
	default:
		t.fail(n, "%v, want a property, or a list such as ('a', 'b')", n)
	}
	for _, e := range n.args {
		switch e.form {
		case character, numeral, boolean:
			a.elems = append(a.elems, t.operand(e).cel)
		default:
			t.fail(e, "%v, want a text, a number, TRUE or FALSE in an array", e)
		}
	}
	return a
}

// contains is a condition: a has all elements of b.
func contains(a, b array) string {
	if b.own != "" {
		return b.own + ".all(e, e in " + a.cel() + ")"
	}
	return b.each(a, " && ", "true")
}

// overlaps is a condition: a and b have a common element.
func overlaps(a, b array) string {
	switch {
	case a.own == "":
		return a.each(b, " || ", "false")
	case b.own == "":
		return b.each(a, " || ", "false")
	}
	return a.own + ".exists(e, e in " + b.own + ")"
}

// each joins a condition for each element of a list: the element is in the other array.
func (a *array) each(in array, join, none string) string {
	if len(a.elems) == 0 {
		return none
	}
	all := make([]string, len(a.elems))
	for i, e := range a.elems {
		all[i] = e + " in " + in.cel()
	}
	return strings.Join(all, join)
}

func (a *array) cel() string {
	if a.own != "" {
		return a.own
	}
	return "[" + strings.Join(a.elems, ", ") + "]"
}
