package cql2

import (
	"time"

	"github.com/catfish-index/catfish/internal/feature/filter"
)

// Temporal predicates compare the ends of their operands: both ends of an instant are
// the instant. A time is a property, whose text is a time or a date, or a literal; a
// date is its first moment in UTC.

// temporal is the meaning of a temporal predicate: all of these comparisons hold, or
// any.
type temporal struct {
	intervals bool // both must be intervals
	any       bool
	of        []ends
}

// ends compares one end of the first operand and one of the second.
type ends struct {
	first  int // start or end
	op     string
	second int
}

const (
	start = iota
	finish
)

// temporals are from the standard's tables of temporal comparison functions, which
// refer to OWL-Time.
var temporals = map[string]*temporal{
	"t_after":        {of: []ends{{start, ">", finish}}},
	"t_before":       {of: []ends{{finish, "<", start}}},
	"t_disjoint":     {any: true, of: []ends{{finish, "<", start}, {start, ">", finish}}},
	"t_equals":       {of: []ends{{start, "=", start}, {finish, "=", finish}}},
	"t_intersects":   {of: []ends{{finish, ">=", start}, {start, "<=", finish}}},
	"t_contains":     {intervals: true, of: []ends{{start, "<", start}, {finish, ">", finish}}},
	"t_during":       {intervals: true, of: []ends{{start, ">", start}, {finish, "<", finish}}},
	"t_finishedBy":   {intervals: true, of: []ends{{start, "<", start}, {finish, "=", finish}}},
	"t_finishes":     {intervals: true, of: []ends{{start, ">", start}, {finish, "=", finish}}},
	"t_meets":        {intervals: true, of: []ends{{finish, "=", start}}},
	"t_metBy":        {intervals: true, of: []ends{{start, "=", finish}}},
	"t_overlappedBy": {intervals: true, of: []ends{{start, ">", start}, {start, "<", finish}, {finish, ">", finish}}},
	"t_overlaps":     {intervals: true, of: []ends{{start, "<", start}, {finish, ">", start}, {finish, "<", finish}}},
	"t_startedBy":    {intervals: true, of: []ends{{start, "=", start}, {finish, ">", finish}}},
	"t_starts":       {intervals: true, of: []ends{{start, "=", start}, {finish, "<", finish}}},
}

// moment is an end: before (-1) or after (1) all times, a literal, or a property.
type moment struct {
	side     int
	at       time.Time
	property bool
	operand  filter.Operand // of a property or literal
}

func (t *translator) temporal(n *node, rule *temporal) (e filter.Test) {
	a, b := t.ends(n, n.args[0], rule), t.ends(n, n.args[1], rule)
	for i, c := range rule.of {
		x := t.compareMoments(a[c.first], c.op, b[c.second])
		switch {
		case i == 0:
			e = x
		case rule.any:
			e = t.tree.Or(e, x)
		default:
			e = t.tree.And(e, x)
		}
	}
	return e
}

// ends returns the ends of an operand of the predicate n.
func (t *translator) ends(n, of *node, rule *temporal) [2]moment {
	if of.form != interval {
		m := t.moment(of, start)
		t.failUnless(!rule.intervals, of, "%v is an instant, want an INTERVAL in %v", of, n)
		return [2]moment{m, m}
	}
	a, b := of.args[0], of.args[1]
	ends := [2]moment{t.moment(a, start), t.moment(b, finish)}
	t.failUnless(a.moment.IsZero() || b.moment.IsZero() || !b.moment.Before(a.moment), b, "%v is before the beginning, %v", b, a)
	return ends
}

func (t *translator) moment(n *node, end int) (m moment) {
	switch n.form {
	case open:
		m.side = 2*end - 1
	case date, timestamp:
		m.at, m.operand = n.moment, t.operand(n).Operand
	case property:
		m.property, m.operand = true, t.operand(n).Time()
	default:
		t.fail(n, "%v, want a property, DATE, TIMESTAMP or INTERVAL", n)
	}
	return m
}

func (t *translator) compareMoments(x moment, op string, y moment) filter.Test {
	t.spend(t.at, testBytes)
	if x.property && y.side == 0 || y.property && x.side == 0 {
		return t.tree.Compare(x.operand, op, y.operand)
	}
	sign := x.side - y.side
	if sign == 0 {
		sign = x.at.Compare(y.at)
	}
	is := filter.Holds(sign, op)
	for _, m := range []moment{x, y} {
		if !m.property {
			continue
		}
		// An unknown time is neither before nor after all times.
		known := t.tree.IsTime(m.operand)
		if !is {
			known = t.tree.Not(known)
		}
		return known
	}
	return t.tree.Constant(is)
}
