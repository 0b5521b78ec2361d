package cql2

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxConditions bounds all conditions of a filter, in bytes: package filter takes no
	// more in one, and each is compiled.
	maxConditions = 4096
	// maxAreas bounds the areas of a filter, each of which may be judged for each
	// feature, and so the separate conditions.
	maxAreas = 64
)

// translator turns nodes into expressions. It fails as the parsers do.
type translator struct {
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

// condition translates a node that is true, false or unknown, or its negation if neg.
func (t *translator) condition(n *node, neg bool) *Expr {
	t.at = n
	switch n.form {
	case boolean:
		return t.constant((n.text == "true") != neg)
	case property:
		return t.cond(t.operand(n).cel, " == ", strconv.FormatBool(!neg))
	case operation:
	default:
		t.fail(n, "%v, want a condition", n)
	}
	switch n.op {
	case opAnd, opOr:
		// The negation of AND is OR.
		o := Or
		if (n.op == opAnd) != neg {
			o = And
		}
		e := t.condition(n.args[0], neg)
		for _, a := range n.args[1:] {
			e = join(o, e, t.condition(a, neg))
		}
		return e
	case opNot:
		return t.condition(n.args[0], !neg)
	case opBetween:
		return t.between(n, neg)
	case opIn:
		return t.in(n, neg)
	case opLike:
		return t.like(n, neg)
	case opIsNull:
		return t.isNull(n, neg)
	case opCasei:
		t.fail(n, "CASEI is a text, want a condition")
	}
	if opposites[n.op] != "" {
		return t.compare(n.op, n.args[0], n.args[1], neg)
	}
	if rule := temporals[n.op]; rule != nil {
		return t.temporal(n, rule, neg)
	}
	if slices.Contains(arrays, n.op) {
		return t.arrays(n, neg)
	}
	return t.spatial(n, neg)
}

// cond is a condition of the current predicate.
func (t *translator) cond(parts ...string) *Expr {
	for _, p := range parts {
		t.bytes += len(p)
	}
	t.failUnless(t.bytes <= maxConditions, t.at, "the conditions up to here take more than %d bytes in CEL, which they are translated into", maxConditions)
	return &Expr{Filter: strings.Join(parts, "")}
}

func (t *translator) constant(is bool) *Expr { return t.cond(strconv.FormatBool(is)) }

// opposites of comparisons.
var opposites = map[string]string{"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

// compare translates a comparison.
func (t *translator) compare(op string, l, r *node, neg bool) *Expr {
	left, right := t.operand(l), t.operand(r)
	if neg {
		op = opposites[op]
	}
	if left.own == "" && right.own == "" {
		return t.literals(op, left, right, r)
	}
	if left.time != right.time {
		// The text of a property is converted to a time.
		switch {
		case left.time && right.plain():
			right.cel = instant(right.cel)
		case right.time && left.plain():
			left.cel = instant(left.cel)
		default:
			t.fail(r, "%v, want times on both sides of %s, or a property", r, op)
		}
	}
	t.failUnless(left.folded == right.folded || left.text || right.text || left.plain() || right.plain(), r,
		"%v, want a text or a property beside CASEI", r)
	// Null is neither equal nor unequal to anything.
	notNull := ""
	if op == "<>" || op == "=" && left.own != "" && right.own != "" {
		for _, o := range []operand{left, right} {
			if o.own != "" {
				notNull += o.own + " != null && "
			}
		}
	}
	switch op {
	case "=":
		op = "=="
	case "<>":
		op = "!="
	}
	return t.cond(notNull, left.cel, " ", op, " ", right.cel)
}

// literals evaluates a comparison of two literals.
func (t *translator) literals(op string, left, right operand, r *node) *Expr {
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
	return t.constant(holds(order, op))
}

// holds reports whether a comparison holds for operands of that order.
func holds(order int, op string) bool {
	switch op {
	case "=":
		return order == 0
	case "<>":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

func (t *translator) between(n *node, neg bool) *Expr {
	o, low, high := n.args[0], n.args[1], n.args[2]
	if l, h := t.operand(low), t.operand(high); l.own == "" && h.own == "" {
		t.failUnless(l.time == h.time, high, "%v, want literals of one kind", high)
	}
	op := And
	if neg {
		op = Or
	}
	return join(op, t.compare(">=", o, low, neg), t.compare("<=", o, high, neg))
}

func (t *translator) in(n *node, neg bool) *Expr {
	o, of := t.operand(n.args[0]), n.args[1]
	t.failUnless(of.form == list, of, "%v, want a list", of)
	all, plain := make([]string, len(of.args)), o.own != ""
	for i, a := range of.args {
		v := t.operand(a)
		all[i] = v.cel
		plain = plain && v.own == "" && !v.time && (v.text || !o.folded)
	}
	if plain {
		in := o.cel + " in [" + strings.Join(all, ", ") + "]"
		if neg {
			return t.cond(o.own, " != null && !(", in, ")")
		}
		return t.cond(in)
	}
	// Equivalent to a = b OR a = c.
	op := Or
	if neg {
		op = And
	}
	e := t.constant(neg) // an empty list
	for i, a := range of.args {
		if x := t.compare("=", n.args[0], a, neg); i > 0 {
			e = join(op, e, x)
		} else {
			e = x
		}
	}
	return e
}

func (t *translator) isNull(n *node, neg bool) *Expr {
	a := n.args[0]
	for a.op == opCasei {
		a = a.args[0]
	}
	if a.form == property && a.text == geometry {
		if neg {
			return t.cond(`type != ""`)
		}
		return t.cond(`type == ""`)
	}
	o := t.operand(a)
	switch {
	case o.own == "":
		return t.constant(neg)
	case neg:
		return t.cond(o.own, " != null")
	}
	return t.cond(t.pathsOf(a).isNull())
}
