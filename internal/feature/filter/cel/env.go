package cel

import (
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"

	"github.com/catfish-index/catfish/internal/feature/filter"
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

// maxDepth bounds nested parentheses, calls and operators: far more than people
// write, and little for the stack of the recursive parser.
const maxDepth = 64

// environment declares the language. It never changes, so that programs share
// it.
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
		cel.ClearMacros(),
		cel.Macros(macros...),
		foldCaseFunction(),
		cel.ParserRecursionLimit(maxDepth),
		cel.ASTValidators(
			cel.ValidateTimestampLiterals(),
			cel.ValidateDurationLiterals(),
			bounds{},
		),
	)
})

// check parses and checks expr. The error is an *Error.
func check(env *cel.Env, expr string) (*cel.Ast, error) {
	checked, issues := env.CompileSource(source{common.NewTextSource(expr)})
	if errs := issues.Errors(); len(errs) > 0 {
		first := errs[0] // the others often follow from it
		e := &filter.Error{Expr: expr, Message: first.Message}
		if l := first.Location; l != nil && l.Line() > 0 && l.Column() >= 0 {
			e.Line, e.Column = l.Line(), l.Column()+1
		}
		explain(e)
		return nil, e
	}
	switch checked.OutputType() {
	case cel.BoolType, cel.DynType:
	default:
		return nil, &filter.Error{Expr: expr, Line: 1, Column: 1, Message: fmt.Sprintf(
			"a filter is a condition (bool), this is %v", checked.OutputType())}
	}
	return checked, nil
}

// source is a text that gives the library no lines for its list of errors. The library
// always formats the list: a line with a caret under each of a hundred errors takes 200
// ms.
type source struct{ common.Source }

func (source) Snippet(int) (string, bool) { return "", false }

// explain shortens the parser's message, and says how properties are named.
func explain(e *filter.Error) {
	// The list of what the parser expected is most of the grammar.
	e.Message, _, _ = strings.Cut(e.Message, " expecting {")
	e.Message = strings.Replace(e.Message, "mismatched input '<EOF>'", "the expression ends too early", 1)
	// A lexer that expects a second = also names the character after the first.
	if strings.Contains(e.Message, "token recognition error at: '=") {
		e.Message = "equality is =="
		return
	}
	rest, ok := strings.CutPrefix(e.Message, "undeclared reference to '")
	if !ok {
		return
	}
	name, _, _ := strings.Cut(rest, "'")
	if line, indent := e.Snippet(); strings.HasPrefix(line[min(len(line), len(indent)):], "(") {
		e.Message = fmt.Sprintf("there is no function '%s'", name)
		return
	}
	e.Message = fmt.Sprintf("undeclared reference to '%s': the variables are "+
		"properties, id, type, revision, expires and now; a property is properties.%s", name, name)
}
