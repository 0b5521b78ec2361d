package cql2

import (
	"strconv"
	"time"
)

// operand is a property or a literal, in the language of package filter.
type operand struct {
	cel    string
	own    string // a property: cel, before any function was applied
	time   bool   // a moment
	text   bool   // a literal text
	value  any    // a literal: a string, int64, float64, bool or time.Time
	folded bool   // a text after case folding
}

// plain reports whether the operand is a property without a function.
func (o *operand) plain() bool { return o.own != "" && o.cel == o.own }

func (t *translator) operand(n *node) (o operand) {
	switch n.form {
	case property:
		t.failUnless(n.text != geometry, n, "%q is no text or number: want a spatial function, or IS NULL", geometry)
		o.own = t.pathsOf(n).cel()
		o.cel = o.own
	case character:
		o.cel, o.text, o.value = strconv.Quote(n.text), true, n.text
	case numeral:
		o.cel, o.value = numberOf(n.text)
	case boolean:
		o.cel, o.value = n.text, n.text == "true"
	case date, timestamp:
		o.cel, o.time, o.value = momentCEL(n.moment), true, n.moment
	case operation:
		t.failUnless(n.op == opCasei, n, "%v is a condition, want a property or a literal", n)
		return t.casei(n)
	default:
		t.fail(n, "%v, want a property or a literal", n)
	}
	return o
}

// numberOf returns a number as a literal of package filter, and its value: an int64 if
// it is an integer, which is exact.
func numberOf(s string) (cel string, value any) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return strconv.FormatInt(n, 10), n
	}
	f, _ := strconv.ParseFloat(s, 64) // The parser has refused all but numbers.
	return strconv.FormatFloat(f, 'g', -1, 64), f
}

func momentCEL(t time.Time) string { return `timestamp("` + t.UTC().Format(time.RFC3339Nano) + `")` }

// instant is the time that a property's text denotes: a date is its first moment.
func instant(cel string) string {
	return "(size(" + cel + ") == 10 ? timestamp(" + cel + ` + "T00:00:00Z") : timestamp(` + cel + "))"
}
