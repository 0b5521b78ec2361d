package filter

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
)

// The variables of an expression.
const (
	varProperties = "properties"
	varID         = "id"
	varType       = "type"
	varRevision   = "revision"
	varExpires    = "expires"
	varNow        = "now"
)

const (
	// maxDepth of nested parentheses, calls and operators: far more than
	// people write, and little for the stack of the recursive parser.
	maxDepth = 64
	// maxNodes of the expression after macros, which can multiply it: a node
	// takes some hundred bytes compiled, so this is about 1 MiB.
	maxNodes = 4096
	// maxRegex bounds the program of a regular expression, which counted
	// repetitions multiply: 1000 instructions match at some 10 us a
	// character at worst.
	maxRegex = 1000
)

// environment declares the language. It never changes, so that programs
// share it.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable(varProperties, cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable(varID, cel.StringType),
		cel.Variable(varType, cel.StringType),
		cel.Variable(varRevision, cel.IntType),
		cel.Variable(varExpires, cel.TimestampType),
		cel.Variable(varNow, cel.TimestampType),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.OptionalTypes(),
		cel.ParserRecursionLimit(maxDepth),
		cel.ExpressionNodeLimit(maxNodes),
		cel.ASTValidators(
			cel.ValidateTimestampLiterals(),
			cel.ValidateDurationLiterals(),
			patterns{},
		),
	)
})

// check parses and checks expr. The error is an *Error.
func check(env *cel.Env, expr string) (*cel.Ast, error) {
	checked, issues := env.Compile(expr)
	if errs := issues.Errors(); len(errs) > 0 {
		first := errs[0] // the others often follow from it
		e := &Error{Expr: expr, Message: explain(first.Message)}
		if l := first.Location; l != nil && l.Line() > 0 && l.Column() >= 0 {
			e.Line, e.Column = l.Line(), l.Column()+1
		}
		return nil, e
	}
	switch checked.OutputType() {
	case cel.BoolType, cel.DynType:
	default:
		return nil, &Error{Expr: expr, Line: 1, Column: 1, Message: fmt.Sprintf(
			"a filter is a condition (bool), this is %v", checked.OutputType())}
	}
	return checked, nil
}

// explain shortens what the parser says, and tells how properties are named.
func explain(msg string) string {
	if m, _, cut := strings.Cut(msg, " expecting {"); cut {
		// What could stand there is most of the grammar.
		msg = m
	}
	msg = strings.Replace(msg, "mismatched input '<EOF>'", "the expression ends too early", 1)
	if rest, ok := strings.CutPrefix(msg, "undeclared reference to '"); ok {
		name, _, _ := strings.Cut(rest, "'")
		return fmt.Sprintf("undeclared reference to '%s': the variables are %s; a property is %s.%s",
			name, "properties, id, type, revision, expires and now", varProperties, name)
	}
	return msg
}

// patterns wants the pattern of matches to be a literal: it is compiled once,
// within maxRegex, and not once for each feature.
type patterns struct{}

func (patterns) Name() string { return "catfish.patterns" }

func (patterns) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	root := ast.NavigateAST(a)
	for _, call := range ast.MatchDescendants(root, ast.FunctionMatcher(overloads.Matches)) {
		args := call.AsCall().Args()
		p := args[len(args)-1]
		if err := checkPattern(p); err != nil {
			issues.ReportErrorAtID(p.ID(), "%v", err)
		}
	}
}

func checkPattern(e ast.Expr) error {
	if e.Kind() != ast.LiteralKind {
		return errors.New("the pattern of matches must be a literal string")
	}
	s, ok := e.AsLiteral().(types.String)
	if !ok {
		return nil // the checker has refused it
	}
	re, err := syntax.Parse(string(s), syntax.Perl)
	if err != nil {
		return err
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return err
	}
	if n := len(prog.Inst); n > maxRegex {
		return fmt.Errorf("the pattern compiles to %d instructions, at most %d are allowed", n, maxRegex)
	}
	return nil
}

// comparisons are the operators that simple filters know.
var comparisons = map[string]op{
	operators.Equals:        opEqual,
	operators.NotEquals:     opNotEqual,
	operators.Less:          opLess,
	operators.LessEquals:    opLessEqual,
	operators.Greater:       opGreater,
	operators.GreaterEquals: opGreaterEqual,
}
