package cql2

import (
	"strconv"

	"golang.org/x/text/cases"

	"github.com/catfish-index/catfish/internal/feature/filter"
)

// operand is a property or a literal, checked.
type operand struct {
	filter.Operand
	own    bool // a property
	time   bool // a literal moment
	text   bool // a literal text
	folded bool // a text after case folding
	value  any  // a literal: a string, int64, float64, bool or time.Time
}

// plain reports whether the operand is a property without a function.
func (o *operand) plain() bool { return o.own && !o.folded }

func (t *translator) operand(n *node) (o operand) {
	switch n.form {
	case property:
		t.failUnless(n.text != geometry, n, "%q is no text or number: want a spatial function, or IS NULL", geometry)
		all := t.pathsOf(n)
		for _, p := range all {
			t.spend(t.at, pathBytes)
			for _, name := range p {
				t.spend(t.at, len(name)+2)
			}
		}
		o.own, o.Operand = true, t.tree.Property(all)
		return o
	case character:
		o.text, o.value = true, n.text
	case numeral:
		o.value = numberOf(n.text)
	case boolean:
		o.value = n.text == "true"
	case date, timestamp:
		o.time, o.value = true, n.moment
	case operation:
		t.failUnless(n.op == opCasei, n, "%v is a condition, want a property or a literal", n)
		return t.casei(n)
	default:
		t.fail(n, "%v, want a property or a literal", n)
	}
	t.spend(t.at, len(n.text)+2)
	o.Operand = filter.Literal(o.value)
	return o
}

// numberOf returns a number: an int64 if it is an integer, which is exact.
func numberOf(s string) any {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	f, _ := strconv.ParseFloat(s, 64) // The parser has refused all but numbers.
	return f
}

// casei is a text after Unicode's full case folding.
func (t *translator) casei(n *node) operand {
	a := n.args[0]
	o := t.operand(a)
	switch {
	case o.folded:
	case o.text:
		s := foldCase(o.value.(string))
		o.value, o.Operand, o.folded = s, filter.Literal(s), true
	case o.plain():
		o.Operand, o.folded = o.Operand.Folded(), true
	default:
		t.fail(a, "%v, want a text or a property in CASEI", a)
	}
	return o
}

// foldCase equals package filter's function of that name.
func foldCase(s string) string { return cases.Fold().String(s) }
