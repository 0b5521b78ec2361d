package cel

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

// Properties returns the names of the properties that an expression reads,
// sorted. It leaves out those whose presence the expression tests, by
// has(properties.x), "x" in properties or properties.?x: features need not have
// them. Of properties.a.b it returns a. An expression with a variable that is
// also called properties has none. The error is that of Compile.
func Properties(expr string) ([]string, error) {
	checked, err := parseExpr(expr, Options{}.withDefaults())
	if err != nil {
		return nil, err
	}
	hidden := false // by a variable of that name
	read, asked := map[string]bool{}, map[string]bool{}
	of := func(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == varProperties }
	note := func(into map[string]bool, name ast.Expr) {
		if name.Kind() == ast.LiteralKind {
			if s, ok := name.AsLiteral().Value().(string); ok {
				into[s] = true
			}
		}
	}
	ast.PreOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			hidden = hidden || e.AsComprehension().IterVar() == varProperties
		case ast.SelectKind:
			switch s := e.AsSelect(); {
			case !of(s.Operand()):
			case s.IsTestOnly():
				asked[s.FieldName()] = true
			default:
				read[s.FieldName()] = true
			}
		case ast.CallKind:
			switch c := e.AsCall(); {
			case len(c.Args()) != 2:
			case c.FunctionName() == operators.Index && of(c.Args()[0]):
				note(read, c.Args()[1])
			case (c.FunctionName() == operators.OptSelect || c.FunctionName() == operators.OptIndex) && of(c.Args()[0]):
				note(asked, c.Args()[1])
			case c.FunctionName() == operators.In && of(c.Args()[1]):
				note(asked, c.Args()[0])
			}
		}
	}))
	var names []string
	for name := range read {
		if !asked[name] && !hidden {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
