package cql2

import (
	"strconv"

	"golang.org/x/text/cases"
)

// casei is a text after Unicode's full case folding.
func (t *translator) casei(n *node) operand {
	a := n.args[0]
	o := t.operand(a)
	switch {
	case o.folded:
	case o.text:
		s := foldCase(o.value.(string))
		o.value, o.cel, o.folded = s, strconv.Quote(s), true
	case o.plain():
		o.cel, o.folded = o.own+".foldCase()", true
	default:
		t.fail(a, "%v, want a text or a property in CASEI", a)
	}
	return o
}

// foldCase equals package filter's function of that name.
func foldCase(s string) string { return cases.Fold().String(s) }
