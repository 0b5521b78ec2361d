package filter

import (
	"math"
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// Most filters compare some properties with literals:
//
//	properties.kind == "cafe" && properties.seats > 20
//
//	        and                     fields    0 properties kind
//	       /   \                              1 properties seats
//	 equal      greater
//	 0 "cafe"   1 20
//
// Such an expression becomes a tree of tests. Evaluating it reads the
// properties once, up to the last name that it needs, and allocates nothing. It
// answers as CEL does. Expressions that the tree does not support are left to
// CEL. Each test of the package runs both ways, as do random expressions on
// random properties.

// op is the operation of a node of the tree.
type op uint8

const (
	opAnd op = iota
	opOr
	opNot
	opTrue // the field, as a condition: properties.open
	opHas
	opEqual
	opNotEqual
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
	opIn       // the field is one of the literals
	opContains // the field is a list, or an object, that contains the literal
	opStartsWith
	opEndsWith
	opHasText // the field is a string that contains the literal

	// Tests of other languages than CEL (tree.go).
	opCompared // left with right, by how; unknown if either is null
	opAmong    // left is one of the literals; unknown if it is null
	opNull
	opTime // left is a time
	opLike
	opSets // left and right as sets, by how
	opPlace
	opConstant // yes if left is not 0
)

// simple is a tree of tests. The root is the last node: children come before
// their parents.
type simple struct {
	nodes []node
	names []string // of properties that the fields begin with
	// long: there may be more than maxNames.
	long bool
}

type node struct {
	op          op
	left, right int // and, or, not: indexes of nodes
	field       field
	literals    []value // one, except for opIn
	more        *more   // of tests of other languages
}

// field is what a test reads.
type field struct {
	variable string   // varID, varType, varRevision or varProperties
	slot     int      // properties: which of simple.names
	path     []string // properties: names below it
}

// maxNames bounds the names that a simple filter may look up: they are found in
// one pass and kept on the stack, where reserving 8 costs some nanoseconds.
const maxNames = 8

// compileSimple returns nil if the expression is not simple.
func compileSimple(a *ast.AST) *simple {
	s := new(simple)
	if _, ok := s.add(a.Expr()); !ok {
		return nil
	}
	return s
}

// add adds the nodes of e and returns the index of its own.
func (s *simple) add(e ast.Expr) (int, bool) {
	var n node
	ok := false
	switch e.Kind() {
	case ast.SelectKind:
		n.op = opTrue
		if e.AsSelect().IsTestOnly() {
			n.op = opHas
		}
		n.field, ok = s.field(e)
	case ast.CallKind:
		n, ok = s.call(e.AsCall())
	}
	s.nodes = append(s.nodes, n)
	return len(s.nodes) - 1, ok
}

func (s *simple) call(c ast.CallExpr) (n node, ok bool) {
	args := c.Args()
	if c.IsMemberFunction() {
		switch c.FunctionName() {
		case overloads.StartsWith:
			n.op = opStartsWith
		case overloads.EndsWith:
			n.op = opEndsWith
		case overloads.Contains:
			n.op = opHasText
		default:
			return n, false
		}
		return s.test(n, c.Target(), args[0])
	}
	switch f := c.FunctionName(); f {
	case operators.LogicalAnd, operators.LogicalOr:
		n.op = opAnd
		if f == operators.LogicalOr {
			n.op = opOr
		}
		if len(args) != 2 {
			return n, false
		}
		if n.left, ok = s.add(args[0]); !ok {
			return n, false
		}
		n.right, ok = s.add(args[1])
		return n, ok
	case operators.LogicalNot:
		n.op = opNot
		n.left, ok = s.add(args[0])
		return n, ok
	case operators.In:
		n.op = opIn
		if args[1].Kind() == ast.ListKind {
			elems := args[1].AsList().Elements()
			if len(elems) == 0 {
				return n, false // false to CEL even if the field is missing
			}
			return s.test(n, args[0], elems...)
		}
		n.op = opContains
		return s.test(n, args[1], args[0])
	case operators.Index:
		n.op = opTrue
		n.field, ok = s.indexed(c)
		return n, ok
	default:
		if n.op, ok = comparisons[f]; !ok {
			return n, false
		}
		if args[0].Kind() == ast.LiteralKind {
			n.op = flip(n.op)
			return s.test(n, args[1], args[0])
		}
		return s.test(n, args[0], args[1])
	}
}

// flip returns the operator for exchanged sides.
func flip(o op) op {
	switch o {
	case opLess:
		return opGreater
	case opLessEqual:
		return opGreaterEqual
	case opGreater:
		return opLess
	case opGreaterEqual:
		return opLessEqual
	}
	return o
}

// test makes n a test of the field e against literals.
func (s *simple) test(n node, e ast.Expr, literals ...ast.Expr) (node, bool) {
	var ok bool
	if n.field, ok = s.field(e); !ok {
		return n, false
	}
	for _, l := range literals {
		if l.Kind() != ast.LiteralKind {
			return n, false
		}
		v, ok := literal(l.AsLiteral())
		if !ok {
			return n, false
		}
		n.literals = append(n.literals, v)
	}
	switch n.op {
	case opLess, opLessEqual, opGreater, opGreaterEqual:
		// CEL orders other values, too, which filters do not need.
		k := n.literals[0].kind
		return n, k == text || k.isNumber()
	case opStartsWith, opEndsWith, opHasText:
		return n, n.literals[0].kind == text
	case opIn:
		// From here on CEL's "in" compares an integer with a double exactly,
		// unlike its "==".
		const exact = 1 << 53
		for _, l := range n.literals {
			if l.kind.isNumber() && math.Abs(l.float()) >= exact {
				return n, false
			}
		}
	}
	return n, true
}

func (k kind) isNumber() bool { return k >= integer && k <= double }

// literal returns a literal of CEL as a value like those of properties.
func literal(l ref.Val) (value, bool) {
	switch l := l.(type) {
	case types.Null:
		return value{kind: null}, true
	case types.Bool:
		if l {
			return value{kind: boolean, num: 1}, true
		}
		return value{kind: boolean}, true
	case types.Int:
		return value{kind: integer, num: uint64(l)}, true
	case types.Uint:
		return unsignedValue(uint64(l)), true
	case types.Double:
		return value{kind: double, num: math.Float64bits(float64(l))}, true
	case types.String:
		return value{kind: text, s: []byte(l)}, true
	}
	return value{}, false
}

// unsignedValue preserves that an unsigned value is above all integers.
func unsignedValue(u uint64) value {
	if u <= math.MaxInt64 {
		return value{kind: integer, num: u}
	}
	return value{kind: unsigned, num: u}
}

// field returns the field that e names.
func (s *simple) field(e ast.Expr) (field, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		switch name := e.AsIdent(); name {
		case varID, varType, varRevision:
			return field{variable: name}, true
		}
	case ast.SelectKind:
		sel := e.AsSelect()
		return s.below(sel.Operand(), sel.FieldName())
	case ast.CallKind:
		if c := e.AsCall(); c.FunctionName() == operators.Index {
			return s.indexed(c)
		}
	}
	return field{}, false
}

// indexed returns the field of x["name"].
func (s *simple) indexed(c ast.CallExpr) (field, bool) {
	args := c.Args()
	if args[1].Kind() != ast.LiteralKind {
		return field{}, false
	}
	name, ok := args[1].AsLiteral().(types.String)
	if !ok {
		return field{}, false
	}
	return s.below(args[0], string(name))
}

// below returns the field of that name in the object e.
func (s *simple) below(e ast.Expr, name string) (field, bool) {
	if e.Kind() == ast.IdentKind && e.AsIdent() == varProperties {
		return s.property(name)
	}
	f, ok := s.field(e)
	if !ok || f.variable != varProperties {
		return field{}, false
	}
	f.path = append(f.path, name)
	return f, true
}

// property returns the field of a property.
func (s *simple) property(name string) (field, bool) {
	i := slices.Index(s.names, name)
	if i < 0 {
		if len(s.names) >= maxNames && !s.long {
			return field{}, false
		}
		i = len(s.names)
		s.names = append(s.names, name)
	}
	return field{variable: varProperties, slot: i}, true
}
