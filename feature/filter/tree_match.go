package filter

import (
	"bytes"
	"math"
	"time"
	"unicode/utf8"

	"github.com/catfish-index/catfish/feature"
)

// further evaluates a test that only a Tree makes.
func (n *node) further(x *simpleRun) truth {
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
		return truthOf(v.kind == missing || v.kind == null)
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
		if v.kind == missing || v.kind == null {
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
func (x *simpleRun) field(o *Operand) *field {
	last := len(o.fields) - 1
	for i := range o.fields[:last] {
		if x.slot(o.fields[i].slot) != nil {
			return &o.fields[i]
		}
	}
	return &o.fields[last]
}

// operand is the value of an operand, missing if it is no text to fold.
func (x *simpleRun) operand(o *Operand) value {
	if len(o.fields) == 0 {
		return o.literal
	}
	v := x.value(x.field(o))
	if !o.fold {
		return v
	}
	if v.kind != text {
		return value{}
	}
	s, _ := foldString(&x.r, string(v.s))
	return value{kind: text, s: []byte(s)}
}

// time is the time of an operand.
func (x *simpleRun) time(o *Operand) (time.Time, bool) {
	if len(o.fields) == 0 {
		return o.at, true
	}
	v := x.value(x.field(o))
	if v.kind != text || !x.r.spend(len(v.s)) {
		return time.Time{}, false
	}
	s := string(v.s)
	if utf8.RuneCountInString(s) == len(time.DateOnly) {
		s += "T00:00:00Z"
	}
	t, err := time.Parse(time.RFC3339, s)
	year := t.UTC().Year()
	return t, err == nil && year >= 1 && year <= 9999
}

func (x *simpleRun) compareTimes(m *more) truth {
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

func (x *simpleRun) compared(a value, how string, b value) truth {
	if a.kind <= null || b.kind <= null {
		return unknown
	}
	if how == "is" {
		if a.kind != boolean {
			return unknown
		}
		return truthOf(a.num == b.num)
	}
	if how == "=" || how == "<>" {
		return truthOf(x.same(a, b, false) == (how == "="))
	}
	order, ok := a.compare(&b)
	if a.kind == boolean && b.kind == boolean {
		order, ok = int(a.num)-int(b.num), true
	}
	if !ok {
		return unknown
	}
	return truthOf(Holds(order, how))
}

// same is CEL's equality, of objects and arrays, too; if exact, that of its sets:
// there a double equals only the integer that it is.
func (x *simpleRun) same(a, b value, exact bool) bool {
	switch {
	case a.kind != b.kind || a.kind != object && a.kind != array:
		return a.equal(&b) && (!exact || a.kind == b.kind || !a.kind.isNumber() || exactly(a, b))
	case a.kind == array:
		c, _ := x.r.open(a.s, '[')
		d, _ := x.r.open(b.s, '[')
		defer x.r.close(&d)
		defer x.r.close(&c)
		for c.next(false) {
			if !d.next(false) || !x.r.spend(memberBytes) || !x.same(x.r.value(c.val), x.r.value(d.val), false) {
				return false
			}
		}
		return !d.next(false)
	}
	return x.count(a, b) == 0 && x.count(b, a) == 0
}

// count is the number of members of an object that another does not have alike.
func (x *simpleRun) count(a, b value) (n int) {
	c, _ := x.r.open(a.s, '{')
	for n == 0 && c.next(true) && x.r.spend(memberBytes) {
		name := x.name(&c)
		first, second := x.r.find(a.s, name), x.r.find(b.s, name)
		if second == nil || !x.same(x.r.value(first), x.r.value(second), false) {
			n++
		}
	}
	x.r.close(&c)
	return n
}

func (x *simpleRun) name(c *cursor) string {
	if !c.escaped {
		return string(c.name)
	}
	s, ok := unquote(c.name)
	if !ok {
		x.r.fault = max(x.r.fault, malformed)
	}
	return s
}

// exactly reports whether a double and an integer that are equal as doubles are equal.
func exactly(a, b value) bool {
	if b.kind == double {
		a, b = b, a
	}
	f := a.float()
	if a.kind != double || math.Abs(f) < 1<<53 {
		return true
	}
	if b.kind == unsigned {
		return f < 1<<64 && uint64(f) == b.num
	}
	return f < 1<<63 && int64(f) == int64(b.num)
}

// like tests a text.
func (m *more) like(x *simpleRun, v value) truth {
	if v.kind != text || x.r.fault != sound {
		return unknown
	}
	part := m.right.literal.s
	switch m.how {
	case "begins":
		return truthOf(bytes.HasPrefix(v.s, part))
	case "ends":
		return truthOf(bytes.HasSuffix(v.s, part))
	case "contains":
		return truthOf(bytes.Contains(v.s, part))
	}
	return truthOf(matchPattern(&x.r, m.re, m.size, string(v.s)))
}

// sets relates two arrays as sets.
func (x *simpleRun) sets(a value, how string, b value) truth {
	for _, v := range []value{a, b} {
		if v.kind != array && v.kind != object {
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
func (x *simpleRun) all(a, b value) bool { return !x.some(a, b, false) }

// some reports whether an element of a is in b, or is not.
func (x *simpleRun) some(a, b value, in bool) (found bool) {
	isObject := a.kind == object
	c, _ := x.r.open(a.s, a.s[0])
	for !found && c.next(isObject) && x.r.spend(loopBytes/bytesPerUnit) {
		e := value{kind: text}
		if isObject {
			e.s = []byte(x.name(&c))
		} else {
			e = x.r.value(c.val)
		}
		found = x.hasElement(b, e) == in
	}
	x.r.close(&c)
	return found
}

// hasElement reports whether an array or object has an element or name.
func (x *simpleRun) hasElement(v, e value) (found bool) {
	if v.kind == object {
		return e.kind == text && x.r.find(v.s, string(e.s)) != nil
	}
	c, _ := x.r.open(v.s, '[')
	for !found && c.next(false) {
		found = x.same(x.r.value(c.val), e, false)
	}
	x.r.close(&c)
	return found
}

// place decides about the feature's geometry.
func (x *simpleRun) place(of Area) truth {
	if x.in.View == nil || x.in.View.Type() == feature.None {
		return unknown
	}
	steps, _ := x.r.steps.(*feature.Steps)
	ok, err := of.MatchIn(x.in.View, steps)
	if err != nil && x.r.fault == sound {
		x.r.fault, x.r.ended = ended, err
	}
	return truthOf(ok)
}
