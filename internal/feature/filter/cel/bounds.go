package cel

import (
	"errors"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/catfish-index/catfish/internal/feature/filter/internal/props"
)

// CEL's cost bounds an expression, but is charged after each operation. So no
// single operation may be large. With all of CEL it can be: some forty times
// .map(x, x + x) doubles a string to a terabyte at a cost of 1 for each step,
// because x has no type, and .map(x, [x, x]) makes a small value that takes
// forever to compare. Here:
//
//   - There is no macro map, nor another one that names a computed value; all,
//     exists, exists_one and filter name elements that existed before.
//   - A list or map that is written in an expression holds literals and
//     fields, not the variables of macros. So no value is nested deeper than
//     the properties are, or than it is written.
//   - Operations that CEL prices at 1 for any length are charged by length
//     (prices, below), properties by the bytes that are read (reader).
//   - Patterns are literals (checkPattern), and charged while they are matched
//     (package props).

// macros are the macros of filters.
var macros = []cel.Macro{
	cel.HasMacro, cel.AllMacro, cel.ExistsMacro, cel.ExistsOneMacro, cel.FilterMacro,
}

// bounds checks the parts of an expression.
type bounds struct{}

func (bounds) Name() string { return "catfish.bounds" }

func (bounds) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	check := func(of ast.Expr, err error) {
		if err != nil {
			issues.ReportErrorAtID(of.ID(), "%v", err)
		}
	}
	exempt := make(map[int64]bool) // lists of the macro filter
	regexes := 0                   // instructions of all patterns so far
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			if l := filterList(e.AsComprehension()); l != nil {
				exempt[l.ID()] = true
			}
		case ast.CallKind:
			c := e.AsCall()
			args := c.Args()
			if c.FunctionName() == overloads.Matches {
				p := args[len(args)-1]
				check(p, checkPattern(p, &regexes))
			}
		case ast.ListKind:
			if exempt[e.ID()] {
				return
			}
			for _, x := range e.AsList().Elements() {
				check(x, checkElement(x))
			}
		case ast.MapKind:
			for _, x := range e.AsMap().Entries() {
				entry := x.AsMapEntry()
				check(entry.Key(), checkElement(entry.Key()))
				check(entry.Value(), checkElement(entry.Value()))
			}
		}
	}))
}

// filterList returns the list [x] of the step that the macro filter makes,
// `condition ? result + [x] : result`, or nil if c is another macro.
func filterList(c ast.ComprehensionExpr) ast.Expr {
	step := c.LoopStep()
	if step.Kind() != ast.CallKind || step.AsCall().FunctionName() != operators.Conditional {
		return nil
	}
	add := step.AsCall().Args()[1]
	if add.Kind() != ast.CallKind || add.AsCall().FunctionName() != operators.Add {
		return nil
	}
	args := add.AsCall().Args()
	if args[0].Kind() != ast.IdentKind || args[0].AsIdent() != c.AccuVar() {
		return nil
	}
	return args[1]
}

// checkElement requires a literal, a list or map, which is checked separately,
// or a field.
func checkElement(e ast.Expr) error {
	switch e.Kind() {
	case ast.LiteralKind, ast.ListKind, ast.MapKind:
		return nil
	}
	if !isField(e) {
		return errors.New("a list or map in a filter holds literals and fields only")
	}
	return nil
}

// isField reports whether e is a variable of filters or a field below one.
func isField(e ast.Expr) bool {
	switch e.Kind() {
	case ast.IdentKind:
		switch e.AsIdent() {
		case varProperties, varID, varType, varRevision, varExpires, varNow:
			return true
		}
	case ast.SelectKind:
		return isField(e.AsSelect().Operand())
	case ast.CallKind:
		switch c := e.AsCall(); c.FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
			return isField(c.Args()[0]) && c.Args()[1].Kind() == ast.LiteralKind
		}
	}
	return false
}

var errPattern = errors.New("the pattern of matches must be a literal string")

// checkPattern requires a literal: it is compiled once, within maxRegex, and
// not once for each feature. It adds its instructions to all.
func checkPattern(e ast.Expr, all *int) error {
	if e.Kind() != ast.LiteralKind {
		return errPattern
	}
	s, ok := e.AsLiteral().(types.String)
	if !ok {
		return nil // the checker has refused it
	}
	_, err := props.PatternSize(string(s), all)
	return err
}

// prices charges the operations that CEL prices at 1: see the top of the file.
type prices struct{}

// zonePrice is the price of reading the file of a time zone: about 20 us, when
// a unit takes 0.2 us.
const zonePrice = 100

func (prices) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	switch {
	case function == operators.Add:
		if _, own := args[0].(traits.MutableLister); own {
			return nil // the macro filter adds an element to its result
		}
		if l, ok := result.(traits.Lister); ok {
			// CEL stores a tree of the joined lists, and walks all of it for
			// each element that is read later.
			n, _ := l.Size().(types.Int)
			return price(uint64(n) * uint64(n))
		}
	case len(args) == 2 && strings.HasPrefix(function, "get"): // getHours
		units := uint64(zonePrice)
		return &units
	case overload == "" || function == overloads.TypeConvertString || function == overloads.TypeConvertBytes:
		// The type checker did not know which of several functions is meant, as
		// with "<" on properties.
	default:
		return nil // CEL's own price
	}
	bytes := length(result)
	for _, a := range args {
		bytes += length(a)
	}
	return price(bytes)
}

// price returns the price of an operation on n bytes.
func price(n uint64) *uint64 {
	n = 1 + n/props.BytesPerUnit
	return &n
}

func length(v ref.Val) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v))
	case types.Bytes:
		return uint64(len(v))
	}
	return 0
}
