package filter

import (
	"bytes"
	"cmp"
	"math"
)

// truth is the result of a test. As in SQL a condition on a missing value is
// unknown: so is its negation, `false && unknown` is false and `true ||
// unknown` is true. CEL's errors work alike.
type truth uint8

const (
	no truth = iota
	yes
	unknown
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// simpleRun is one evaluation of a simple filter.
type simpleRun struct {
	s     *simple
	in    Input // a copy: a pointer would move the caller's to the heap
	r     reader
	read  bool // found is filled
	found [maxNames][]byte
}

// matchSimple evaluates the expression by its tree.
func (p *Program) matchSimple(f *Input, steps Stepper) (bool, error) {
	run := simpleRun{s: p.simple, in: *f}
	run.r.begin(f.Properties, p.limit, steps)
	t := run.eval(p.root)
	if run.r.fault != sound {
		return false, run.r.err(p)
	}
	return t == yes, nil
}

// eval evaluates a node. Recursion is bounded by maxDepth of expressions.
func (x *simpleRun) eval(i int) truth {
	n := &x.s.nodes[i]
	switch n.op {
	case opAnd, opOr:
		decides := truthOf(n.op == opOr)
		left := x.eval(n.left)
		if left == decides {
			return left
		}
		right := x.eval(n.right)
		if right == decides || left != unknown {
			return right
		}
		return unknown
	case opNot:
		switch x.eval(n.left) {
		case yes:
			return no
		case no:
			return yes
		}
		return unknown
	case opHas:
		return x.has(&n.field)
	}
	if n.op >= opCompared {
		return n.further(x)
	}
	v := x.value(&n.field)
	if v.kind == missing {
		return unknown
	}
	return n.test(x, v)
}

// test applies a node that looks at one value.
func (n *node) test(x *simpleRun, v value) truth {
	switch n.op {
	case opTrue:
		if v.kind != boolean {
			return unknown
		}
		return truthOf(v.num == 1)
	case opEqual:
		return truthOf(v.equal(&n.literals[0]))
	case opNotEqual:
		return truthOf(!v.equal(&n.literals[0]))
	case opIn:
		for i := range n.literals {
			if v.equal(&n.literals[i]) {
				return yes
			}
		}
		return no
	case opContains:
		return x.contains(v, &n.literals[0])
	case opStartsWith, opEndsWith, opHasText:
		if v.kind != text {
			return unknown
		}
		switch l := n.literals[0].s; n.op {
		case opStartsWith:
			return truthOf(bytes.HasPrefix(v.s, l))
		case opEndsWith:
			return truthOf(bytes.HasSuffix(v.s, l))
		default:
			return truthOf(bytes.Contains(v.s, l))
		}
	}
	c, ok := v.compare(&n.literals[0])
	if !ok {
		return unknown
	}
	switch n.op {
	case opLess:
		return truthOf(c < 0)
	case opLessEqual:
		return truthOf(c <= 0)
	case opGreater:
		return truthOf(c > 0)
	default:
		return truthOf(c >= 0)
	}
}

// value returns the value of a field, missing if the feature does not have it.
func (x *simpleRun) value(f *field) value {
	switch f.variable {
	case varID:
		return value{kind: text, s: x.in.ID}
	case varType:
		return value{kind: text, s: typeBytes(x.in.Type)}
	case varRevision:
		return unsignedValue(x.in.Revision)
	}
	raw := x.slot(f.slot)
	for _, name := range f.path {
		if len(raw) == 0 || raw[0] != '{' {
			return value{}
		}
		raw = x.r.find(raw, name)
	}
	return x.r.value(raw)
}

// typeBytes returns a geometry's type without an allocation.
func typeBytes(name string) []byte {
	for i := range geometries {
		if string(geometries[i]) == name {
			return geometries[i]
		}
	}
	return []byte(name)
}

// geometries are GeoJSON's types (RFC 7946, 1.4).
var geometries = [...][]byte{
	[]byte("Point"), []byte("LineString"), []byte("Polygon"), []byte("MultiPolygon"),
	[]byte("MultiPoint"), []byte("MultiLineString"), []byte("GeometryCollection"), {},
}

// slot returns the text of a property. The first call finds all of them.
func (x *simpleRun) slot(i int) []byte {
	if !x.read {
		x.read = true
		names := x.s.names[:min(len(x.s.names), maxNames)]
		x.r.findAll(names, x.found[:len(names)])
	}
	if i >= maxNames {
		return x.r.find(x.r.props, x.s.names[i])
	}
	return x.found[i]
}

// has reports whether a field exists: unknown if its parent does not.
func (x *simpleRun) has(f *field) truth {
	if len(f.path) == 0 {
		return truthOf(x.slot(f.slot) != nil)
	}
	last := len(f.path) - 1
	holder := x.value(&field{variable: f.variable, slot: f.slot, path: f.path[:last]})
	switch holder.kind {
	case missing, array:
		return unknown
	case object:
		return truthOf(x.r.find(holder.s, f.path[last]) != nil)
	}
	return no
}

// contains reports whether v contains the literal.
func (x *simpleRun) contains(v value, l *value) truth {
	switch v.kind {
	case object:
		if l.kind != text {
			return no
		}
		return truthOf(x.r.find(v.s, string(l.s)) != nil)
	case array:
		c, _ := x.r.open(v.s, '[')
		found := no
		for found == no && c.next(false) {
			e := x.r.value(c.val)
			found = truthOf(e.equal(l))
		}
		x.r.close(&c)
		return found
	}
	return unknown
}

// equal is CEL's equality: numbers of all kinds compare, other values of
// different kinds differ.
func (v *value) equal(l *value) bool {
	if v.kind.isNumber() && l.kind.isNumber() {
		return compareNumbers(v, l) == 0
	}
	if v.kind != l.kind {
		return false
	}
	return v.num == l.num && bytes.Equal(v.s, l.s)
}

// compare orders numbers, or strings by their bytes.
func (v *value) compare(l *value) (int, bool) {
	if v.kind.isNumber() && l.kind.isNumber() {
		return compareNumbers(v, l), true
	}
	if v.kind == text && l.kind == text {
		return bytes.Compare(v.s, l.s), true
	}
	return 0, false
}

// compareNumbers orders as CEL does: integers exactly, integers with doubles
// as doubles. A double is never NaN, because JSON and CEL cannot write it.
func compareNumbers(a, b *value) int {
	if a.kind == double || b.kind == double {
		return cmp.Compare(a.float(), b.float())
	}
	if a.kind != b.kind { // one is above all integers
		return cmp.Compare(a.kind, b.kind)
	}
	if a.kind == unsigned {
		return cmp.Compare(a.num, b.num)
	}
	return cmp.Compare(int64(a.num), int64(b.num))
}

func (v *value) float() float64 {
	switch v.kind {
	case integer:
		return float64(int64(v.num))
	case unsigned:
		return float64(v.num)
	}
	return math.Float64frombits(v.num)
}
