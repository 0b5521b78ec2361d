package filter

import (
	"bytes"
	"math"
	"time"
	"unicode/utf8"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter/internal/props"
)

// further evaluates a test that only a Tree makes.
func (n *node) further(x *run) truth {
	if n.op == opConstant {
		return truthOf(n.left != 0)
	}
	m := n.more
	switch n.op {
	case opPlace:
		return x.place(m.place)
	case opSets:
		return x.sets(x.operand(&m.left), m.how, x.operand(&m.right))
	case opNull:
		v := x.operand(&m.left)
		return truthOf(v.Kind == props.Missing || v.Kind == props.Null)
	case opCompared:
		if m.left.time {
			return x.compareTimes(m)
		}
		return x.compared(x.operand(&m.left), m.how, x.operand(&m.right))
	case opTime:
		_, ok := x.time(&m.left)
		if !ok {
			return unknown
		}
		return yes
	case opAmong:
		v := x.operand(&m.left)
		if v.Kind == props.Missing || v.Kind == props.Null {
			return unknown
		}
		for i := range m.literals {
			if x.same(v, m.literals[i].literal, true) {
				return yes
			}
		}
		return no
	}
	return m.like(x, x.operand(&m.left))
}

// field is the field that counts for the feature.
func (x *run) field(o *Operand) *field {
	last := len(o.fields) - 1
	for i := range o.fields[:last] {
		if x.slot(o.fields[i].slot) != nil {
			return &o.fields[i]
		}
	}
	return &o.fields[last]
}

// operand is the value of an operand, missing if it is no text to fold.
func (x *run) operand(o *Operand) props.Value {
	if len(o.fields) == 0 {
		return o.literal
	}
	v := x.value(x.field(o))
	if !o.fold {
		return v
	}
	if v.Kind != props.Text {
		return props.Value{}
	}
	s, _ := props.FoldCase(&x.r, string(v.S))
	return props.Value{Kind: props.Text, S: []byte(s)}
}

// time is the time of an operand.
func (x *run) time(o *Operand) (time.Time, bool) {
	if len(o.fields) == 0 {
		return o.at, true
	}
	v := x.value(x.field(o))
	if v.Kind != props.Text || !x.r.Spend(len(v.S)) {
		return time.Time{}, false
	}
	s := string(v.S)
	if utf8.RuneCountInString(s) == len(time.DateOnly) {
		s += "T00:00:00Z"
	}
	t, err := time.Parse(time.RFC3339, s)
	year := t.UTC().Year()
	return t, err == nil && year >= 1 && year <= 9999
}

func (x *run) compareTimes(m *more) truth {
	a, ok := x.time(&m.left)
	if !ok {
		return unknown
	}
	b, ok := x.time(&m.right)
	if !ok {
		return unknown
	}
	return truthOf(Holds(a.Compare(b), m.how))
}

// Holds reports whether a comparison holds for operands of that order.
func Holds(order int, how string) bool {
	switch how {
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

func (x *run) compared(a props.Value, how string, b props.Value) truth {
	if a.Kind <= props.Null || b.Kind <= props.Null {
		return unknown
	}
	if how == "is" {
		if a.Kind != props.Boolean {
			return unknown
		}
		return truthOf(a.Num == b.Num)
	}
	if how == "=" || how == "<>" {
		return truthOf(x.same(a, b, false) == (how == "="))
	}
	order, ok := a.Compare(&b)
	if a.Kind == props.Boolean && b.Kind == props.Boolean {
		order, ok = int(a.Num)-int(b.Num), true
	}
	if !ok {
		return unknown
	}
	return truthOf(Holds(order, how))
}

// same is CEL's equality, of objects and arrays, too; if exact, that of its sets:
// there a double equals only the integer that it is.
func (x *run) same(a, b props.Value, exact bool) bool {
	switch {
	case a.Kind != b.Kind || a.Kind != props.Object && a.Kind != props.Array:
		return a.Equal(&b) && (!exact || a.Kind == b.Kind || !a.Kind.IsNumber() || exactly(a, b))
	case a.Kind == props.Array:
		c := x.r.Open(a.S, '[')
		d := x.r.Open(b.S, '[')
		for x.r.Next(&c, false) {
			if !x.r.Next(&d, false) || !x.r.Spend(props.MemberBytes) || !x.same(x.r.Value(c.Val), x.r.Value(d.Val), false) {
				return false
			}
		}
		return !x.r.Next(&d, false)
	}
	others, equal := x.members(b), 0
	c := x.r.Open(a.S, '{')
	for x.r.Next(&c, true) && x.r.Spend(props.MemberBytes) {
		name := x.r.Name(&c)
		switch other, has := others[name]; {
		case has && other == nil: // the second of one name
		case !has || !x.same(x.r.Value(c.Val), x.r.Value(other), false):
			return false
		default:
			others[name] = nil
			equal++
		}
	}
	return equal == len(others)
}

// members are those of an object. The first of one name counts.
func (x *run) members(v props.Value) map[string][]byte {
	all := map[string][]byte{}
	c := x.r.Open(v.S, '{')
	for x.r.Next(&c, true) && x.r.Spend(props.MemberBytes) {
		if name := x.r.Name(&c); all[name] == nil {
			all[name] = c.Val
		}
	}
	return all
}

// exactly reports whether a double and an integer that are equal as doubles are equal.
func exactly(a, b props.Value) bool {
	if b.Kind == props.Double {
		a, b = b, a
	}
	f := a.Float()
	if a.Kind != props.Double || math.Abs(f) < 1<<53 {
		return true
	}
	if b.Kind == props.Unsigned {
		return f < 1<<64 && uint64(f) == b.Num
	}
	return f < 1<<63 && int64(f) == int64(b.Num)
}

// like tests a text.
func (m *more) like(x *run, v props.Value) truth {
	if v.Kind != props.Text || x.r.Fault != props.Sound {
		return unknown
	}
	part := m.right.literal.S
	switch m.how {
	case "begins":
		return truthOf(bytes.HasPrefix(v.S, part))
	case "ends":
		return truthOf(bytes.HasSuffix(v.S, part))
	case "contains":
		return truthOf(bytes.Contains(v.S, part))
	}
	return truthOf(props.MatchPattern(&x.r, m.re, m.size, string(v.S)))
}

// sets relates two arrays as sets.
func (x *run) sets(a props.Value, how string, b props.Value) truth {
	for _, v := range []props.Value{a, b} {
		if v.Kind != props.Array && v.Kind != props.Object {
			return unknown
		}
	}
	switch Relation(how) {
	case Contains:
		return truthOf(x.all(b, a))
	case Contained:
		return truthOf(x.all(a, b))
	case Equals:
		return truthOf(x.all(b, a) && x.all(a, b))
	}
	return truthOf(x.some(a, b, true))
}

// all reports whether all elements of a are in b.
func (x *run) all(a, b props.Value) bool { return !x.some(a, b, false) }

// some reports whether an element of a is in b, or is not.
func (x *run) some(a, b props.Value, in bool) bool {
	isObject := a.Kind == props.Object
	c := x.r.Open(a.S, a.S[0])
	for x.r.Next(&c, isObject) && x.r.Spend(props.MemberBytes) {
		e := props.Value{Kind: props.Text}
		if isObject {
			e.S = []byte(x.r.Name(&c))
		} else {
			e = x.r.Value(c.Val)
		}
		if x.hasElement(b, e, props.BytesPerUnit) == in {
			return true
		}
	}
	return false
}

// hasElement reports whether an array or object has an element or name. Each comparison
// has a price, beside that of the bytes.
func (x *run) hasElement(v, e props.Value, price int) bool {
	if v.Kind == props.Object {
		return e.Kind == props.Text && x.r.Find(v.S, string(e.S)) != nil
	}
	c := x.r.Open(v.S, '[')
	for x.r.Next(&c, false) && x.r.Spend(price) {
		if x.same(x.r.Value(c.Val), e, false) {
			return true
		}
	}
	return false
}

// place decides about the feature's geometry.
func (x *run) place(of Area) truth {
	if x.in.View == nil || x.in.View.Type() == feature.None {
		return unknown
	}
	steps, _ := x.r.Steps.(*feature.Steps)
	ok, err := of.MatchIn(x.in.View, steps)
	if err != nil && x.r.Fault == props.Sound {
		x.r.Fault, x.r.Ended = props.Ended, err
	}
	return truthOf(ok)
}
