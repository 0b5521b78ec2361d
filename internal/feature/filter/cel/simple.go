package cel

import (
	"math"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/catfish-index/catfish/internal/feature/filter"
)

// compileTree returns the tree of an expression that compares fields with literals; not
// ok of others.
func compileTree(a *ast.AST) (t *filter.Tree, root filter.Test, ok bool) {
	var s simply
	root, ok = s.add(a.Expr())
	return &s.Tree, root, ok
}

// simply builds the tree of an expression.
type simply struct{ filter.Tree }

func (s *simply) add(e ast.Expr) (filter.Test, bool) {
	switch e.Kind() {
	case ast.SelectKind:
		if e.AsSelect().IsTestOnly() {
			return s.test(filter.OpHas, e)
		}
		return s.test(filter.OpTrue, e)
	case ast.CallKind:
		return s.call(e.AsCall(), e)
	}
	return 0, false
}

// texts are the tests of a text by a literal, and comparisons those of other literals.
var (
	texts = map[string]filter.Op{
		overloads.StartsWith: filter.OpStartsWith, overloads.EndsWith: filter.OpEndsWith, overloads.Contains: filter.OpHasText,
	}
	comparisons = map[string]filter.Op{
		operators.Equals: filter.OpEqual, operators.NotEquals: filter.OpNotEqual,
		operators.Less: filter.OpLess, operators.LessEquals: filter.OpLessEqual,
		operators.Greater: filter.OpGreater, operators.GreaterEquals: filter.OpGreaterEqual,
	}
	// flipped are the operators for exchanged sides.
	flipped = map[filter.Op]filter.Op{
		filter.OpEqual: filter.OpEqual, filter.OpNotEqual: filter.OpNotEqual, filter.OpLess: filter.OpGreater, filter.OpLessEqual: filter.OpGreaterEqual,
		filter.OpGreater: filter.OpLess, filter.OpGreaterEqual: filter.OpLessEqual,
	}
)

func (s *simply) call(c ast.CallExpr, e ast.Expr) (filter.Test, bool) {
	args := c.Args()
	if c.IsMemberFunction() {
		if o, ok := texts[c.FunctionName()]; ok {
			return s.test(o, c.Target(), args[0])
		}
		return 0, false
	}
	switch f := c.FunctionName(); f {
	case operators.LogicalAnd, operators.LogicalOr:
		if len(args) != 2 {
			return 0, false
		}
		a, left := s.add(args[0])
		b, right := s.add(args[1])
		if f == operators.LogicalOr {
			return s.Or(a, b), left && right
		}
		return s.And(a, b), left && right
	case operators.LogicalNot:
		a, ok := s.add(args[0])
		return s.Not(a), ok
	case operators.In:
		if args[1].Kind() != ast.ListKind {
			return s.test(filter.OpContains, args[1], args[0])
		}
		elems := args[1].AsList().Elements()
		if len(elems) == 0 {
			return 0, false // false to CEL even if the field is missing
		}
		return s.test(filter.OpIn, args[0], elems...)
	case operators.Index:
		return s.test(filter.OpTrue, e)
	default:
		o, ok := comparisons[f]
		switch {
		case !ok:
			return 0, false
		case args[0].Kind() == ast.LiteralKind:
			return s.test(flipped[o], args[1], args[0])
		}
		return s.test(o, args[0], args[1])
	}
}

// test tests the field e against literals.
func (s *simply) test(o filter.Op, e ast.Expr, literals ...ast.Expr) (filter.Test, bool) {
	f, ok := s.field(e)
	if !ok {
		return 0, false
	}
	all := make([]filter.Operand, len(literals))
	for i, l := range literals {
		if l.Kind() != ast.LiteralKind {
			return 0, false
		}
		if all[i], ok = literal(l.AsLiteral(), o); !ok {
			return 0, false
		}
	}
	return s.Test(o, f, all...), true
}

// literal returns a literal of CEL, if the tree tests fields against it as CEL does.
func literal(l ref.Val, o filter.Op) (filter.Operand, bool) {
	number := 0.0
	switch l := l.(type) {
	case types.String:
		return filter.Literal(string(l)), true
	case types.Int:
		number = float64(l)
	case types.Uint:
		number = float64(l)
	case types.Double:
		number = float64(l)
	case types.Null, types.Bool:
		// CEL orders these, too, which filters do not need.
		ordered := o >= filter.OpLess && o <= filter.OpGreaterEqual || o >= filter.OpStartsWith
		if l == types.NullValue {
			return filter.Literal(nil), !ordered
		}
		return filter.Literal(l.Value()), !ordered
	default:
		return filter.Operand{}, false
	}
	// From here on CEL's "in" compares an integer with a double exactly, unlike its "==".
	const exact = 1 << 53
	return filter.Literal(l.Value()), o < filter.OpStartsWith && (o != filter.OpIn || math.Abs(number) < exact)
}

// field returns the field that e names.
func (s *simply) field(e ast.Expr) (filter.Operand, bool) {
	if e.Kind() == ast.IdentKind {
		switch name := e.AsIdent(); name {
		case varID, varType, varRevision:
			return filter.Variable(name), true
		}
		return filter.Operand{}, false
	}
	path, ok := pathOf(e)
	if !ok || len(path) == 0 {
		return filter.Operand{}, false
	}
	return s.Property([][]string{path}), true
}

// pathOf returns the names that lead from the properties to e.
func pathOf(e ast.Expr) (path []string, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return nil, e.AsIdent() == varProperties
	case ast.SelectKind:
		path, ok = pathOf(e.AsSelect().Operand())
		return append(path, e.AsSelect().FieldName()), ok
	case ast.CallKind:
		c := e.AsCall()
		if c.FunctionName() != operators.Index || c.Args()[1].Kind() != ast.LiteralKind {
			return nil, false
		}
		name, is := c.Args()[1].AsLiteral().(types.String)
		path, ok = pathOf(c.Args()[0])
		return append(path, string(name)), ok && is
	}
	return nil, false
}
