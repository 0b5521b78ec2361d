package cql2

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/catfish-index/catfish/internal/feature/filter"
)

const (
	// maxConditions bounds all conditions of a filter, in bytes: of names, literals and
	// tests, about as many as package filter takes of CEL.
	maxConditions = 4096
	// testBytes count for each test, and pathBytes for each path of a property.
	testBytes = 4
	pathBytes = 10
	// maxAreas bounds the areas of a filter, each of which may be judged for each
	// feature, and so the separate conditions.
	maxAreas = 64
)

// translator turns nodes into tests. It fails as the parsers do.
type translator struct {
	tree       filter.Tree
	properties Properties
	errorAt    func(at place, message string) *Error
	known      map[string]paths // by property name

	at    *node // the current predicate
	bytes int   // size of all conditions
	areas int
}

func (t *translator) fail(n *node, format string, args ...any) {
	panic(t.errorAt(n.at, fmt.Sprintf(format, args...)))
}

func (t *translator) failUnless(ok bool, n *node, format string, args ...any) {
	if !ok {
		t.fail(n, format, args...)
	}
}

// condition translates a node that is true, false or unknown.
func (t *translator) condition(n *node) (e filter.Test) {
	t.at = n
	switch n.form {
	case boolean:
		return t.constant(n.text == "true")
	case property:
		return t.isTrue(n)
	case operation:
	default:
		t.fail(n, "%v, want a condition", n)
	}
	switch n.op {
	case opAnd, opOr:
		for i, a := range n.args {
			switch x := t.condition(a); {
			case i == 0:
				e = x
			case n.op == opAnd:
				e = t.tree.And(e, x)
			default:
				e = t.tree.Or(e, x)
			}
		}
		return e
	case opNot:
		return t.tree.Not(t.condition(n.args[0]))
	case opBetween:
		return t.between(n)
	case opIn:
		return t.in(n)
	case opLike:
		return t.like(n)
	case opIsNull:
		return t.isNull(n)
	case opCasei:
		t.fail(n, "CASEI is a text, want a condition")
	}
	if comparisons[n.op] {
		return t.compare(n.op, n.args[0], n.args[1])
	}
	if rule := temporals[n.op]; rule != nil {
		return t.temporal(n, rule)
	}
	if arrays[n.op] != "" {
		return t.arrays(n)
	}
	return t.spatial(n)
}

// spend counts bytes of conditions.
func (t *translator) spend(n *node, bytes int) {
	t.bytes += bytes
	t.failUnless(t.bytes <= maxConditions, n, "the conditions up to here take more than %d bytes", maxConditions)
}

func (t *translator) constant(is bool) filter.Test {
	t.spend(t.at, testBytes)
	return t.tree.Constant(is)
}

// isTrue holds for true; of what is no boolean it is unknown.
func (t *translator) isTrue(n *node) filter.Test {
	t.spend(n, testBytes)
	return t.tree.IsTrue(t.operand(n).Operand)
}

var comparisons = map[string]bool{"=": true, "<>": true, "<": true, ">=": true, ">": true, "<=": true}

// compare translates a comparison.
func (t *translator) compare(op string, l, r *node) filter.Test {
	left, right := t.operand(l), t.operand(r)
	if !left.own && !right.own {
		return t.literals(op, left, right, r)
	}
	if left.time != right.time {
		// The text of a property is converted to a time.
		switch {
		case left.time && right.plain():
			right.Operand = right.Time()
		case right.time && left.plain():
			left.Operand = left.Time()
		default:
			t.fail(r, "%v, want times on both sides of %s, or a property", r, op)
		}
	}
	t.failUnless(left.folded == right.folded || left.text || right.text || left.plain() || right.plain(), r,
		"%v, want a text or a property beside CASEI", r)
	t.spend(t.at, testBytes)
	return t.tree.Compare(left.Operand, op, right.Operand)
}

// literals evaluates a comparison of two literals.
func (t *translator) literals(op string, left, right operand, r *node) filter.Test {
	order, ok := 0, true
	switch l := left.value.(type) {
	case string:
		var s string
		s, ok = right.value.(string)
		order = strings.Compare(l, s)
	case int64:
		if i, whole := right.value.(int64); whole {
			order = cmp.Compare(l, i)
			break
		}
		var f float64
		f, ok = right.value.(float64)
		order = cmp.Compare(float64(l), f)
	case float64:
		f, float := right.value.(float64)
		if i, whole := right.value.(int64); whole {
			f, float = float64(i), true
		}
		order, ok = cmp.Compare(l, f), float
	case bool:
		var b bool
		b, ok = right.value.(bool)
		if ok = ok && (op == "=" || op == "<>"); ok && l != b {
			order = 1
		}
	case time.Time:
		var m time.Time
		m, ok = right.value.(time.Time)
		order = l.Compare(m)
	}
	t.failUnless(ok, r, "%v, want what %s compares with the literal before it, or a property", r, op)
	return t.constant(filter.Holds(order, op))
}

func (t *translator) between(n *node) filter.Test {
	o, low, high := n.args[0], n.args[1], n.args[2]
	if l, h := t.operand(low), t.operand(high); !l.own && !h.own {
		t.failUnless(l.time == h.time, high, "%v, want literals of one kind", high)
	}
	return t.tree.And(t.compare(">=", o, low), t.compare("<=", o, high))
}

func (t *translator) in(n *node) filter.Test {
	o, of := t.operand(n.args[0]), n.args[1]
	t.failUnless(of.form == list, of, "%v, want a list", of)
	all, plain := make([]filter.Operand, len(of.args)), o.own
	for i, a := range of.args {
		v := t.operand(a)
		all[i] = v.Operand
		plain = plain && !v.own && !v.time && (v.text || !o.folded)
	}
	t.spend(n, testBytes)
	if plain {
		return t.tree.Among(o.Operand, all)
	}
	// Equivalent to a = b OR a = c.
	if len(of.args) == 0 {
		return t.constant(false)
	}
	e := t.compare("=", n.args[0], of.args[0])
	for _, a := range of.args[1:] {
		e = t.tree.Or(e, t.compare("=", n.args[0], a))
	}
	return e
}

func (t *translator) isNull(n *node) filter.Test {
	a := n.args[0]
	for a.op == opCasei {
		a = a.args[0]
	}
	t.spend(n, testBytes)
	if a.form == property && a.text == geometry {
		return t.tree.NoGeometry()
	}
	o := t.operand(a)
	if !o.own {
		return t.tree.Constant(false)
	}
	return t.tree.Null(o.Operand)
}
