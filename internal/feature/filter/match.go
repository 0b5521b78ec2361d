package filter

import (
	"bytes"

	"github.com/catfish-index/catfish/internal/feature/filter/internal/props"
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

// run is one evaluation of a tree.
type run struct {
	t    *Tree
	in   Input // a copy: a pointer would move the caller's to the heap
	r    props.Reader
	read bool // found is filled
	// parsed has the bits of found that were: parsing is charged from the second time on.
	parsed uint
	found  [maxNames][]byte
}

// match evaluates a test. It allocates nothing for simple ones.
func (t *Tree) match(root int, f *Input, limit uint64, steps Stepper) (bool, error) {
	x := run{t: t, in: *f}
	x.r.Begin(f.Properties, limit, steps)
	is := x.eval(root)
	return is == yes && x.r.Fault == props.Sound, x.r.Err()
}

// eval evaluates a node. Languages bound the depth of expressions.
func (x *run) eval(i int) truth {
	n := &x.t.nodes[i]
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
	case OpHas:
		return x.has(&n.field)
	}
	if n.op >= opCompared {
		return n.further(x)
	}
	v := x.value(&n.field)
	if v.Kind == props.Missing {
		return unknown
	}
	return n.test(x, v)
}

// test applies a node that looks at one value.
func (n *node) test(x *run, v props.Value) truth {
	switch n.op {
	case OpTrue:
		if v.Kind != props.Boolean {
			return unknown
		}
		return truthOf(v.Num == 1)
	case OpEqual:
		return truthOf(v.Equal(&n.literals[0]))
	case OpNotEqual:
		return truthOf(!v.Equal(&n.literals[0]))
	case OpIn:
		for i := range n.literals {
			if v.Equal(&n.literals[i]) {
				return yes
			}
		}
		return no
	case OpContains:
		if v.Kind != props.Array && v.Kind != props.Object {
			return unknown
		}
		return truthOf(x.hasElement(v, n.literals[0], 0))
	case OpStartsWith, OpEndsWith, OpHasText:
		if v.Kind != props.Text {
			return unknown
		}
		switch l := n.literals[0].S; n.op {
		case OpStartsWith:
			return truthOf(bytes.HasPrefix(v.S, l))
		case OpEndsWith:
			return truthOf(bytes.HasSuffix(v.S, l))
		default:
			return truthOf(bytes.Contains(v.S, l))
		}
	}
	c, ok := v.Compare(&n.literals[0])
	if !ok {
		return unknown
	}
	switch n.op {
	case OpLess:
		return truthOf(c < 0)
	case OpLessEqual:
		return truthOf(c <= 0)
	case OpGreater:
		return truthOf(c > 0)
	default:
		return truthOf(c >= 0)
	}
}

// value returns the value of a field, missing if the feature does not have it.
func (x *run) value(f *field) props.Value {
	switch f.variable {
	case "id":
		return props.Value{Kind: props.Text, S: x.in.ID}
	case "type":
		return props.Value{Kind: props.Text, S: typeBytes(x.in.Type)}
	case "revision":
		return props.UnsignedValue(x.in.Revision)
	}
	raw := x.slot(f.slot)
	if again := uint(1) << f.slot; len(f.path) == 0 && f.slot < maxNames {
		if x.parsed&again != 0 && !x.r.Spend(len(raw)) {
			return props.Value{}
		}
		x.parsed |= again
	}
	for _, name := range f.path {
		if len(raw) == 0 || raw[0] != '{' {
			return props.Value{}
		}
		raw = x.r.Find(raw, name)
	}
	return x.r.Value(raw)
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
func (x *run) slot(i int) []byte {
	if !x.read {
		x.read = true
		names := x.t.names[:min(len(x.t.names), maxNames)]
		x.r.FindAll(names, x.found[:len(names)])
	}
	if i >= maxNames {
		return x.r.Find(x.r.Props, x.t.names[i])
	}
	return x.found[i]
}

// has reports whether a field exists: unknown if its parent does not.
func (x *run) has(f *field) truth {
	if len(f.path) == 0 {
		return truthOf(x.slot(f.slot) != nil)
	}
	last := len(f.path) - 1
	holder := x.value(&field{variable: f.variable, slot: f.slot, path: f.path[:last]})
	switch holder.Kind {
	case props.Missing, props.Array:
		return unknown
	case props.Object:
		return truthOf(x.r.Find(holder.S, f.path[last]) != nil)
	}
	return no
}
