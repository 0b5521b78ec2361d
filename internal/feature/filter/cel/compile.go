package cel

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"

	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/feature/filter/internal/props"
)

// Options limit one expression. The zero value means the defaults.
type Options struct {
	// CostLimit bounds one evaluation. Default filter.DefaultCost.
	CostLimit uint64
	// MaxLength of an expression, in bytes. Default 4096.
	MaxLength int
}

const defaultLength = 4096

func (o Options) withDefaults() Options {
	if o.CostLimit == 0 {
		o.CostLimit = filter.DefaultCost
	}
	// The limit in bytes must not overflow either.
	o.CostLimit = min(o.CostLimit, math.MaxInt/props.BytesPerUnit)
	if o.MaxLength <= 0 {
		o.MaxLength = defaultLength
	}
	return o
}

// Compile compiles an expression, which must be a condition. The error is an
// *Error, which is an ErrFilter, unless the library itself fails.
func Compile(expr string, opts Options) (*filter.Program, error) {
	opts = opts.withDefaults()
	checked, err := parseExpr(expr, opts)
	if err != nil {
		return nil, err
	}
	if t, root, ok := compileTree(checked.NativeRep()); ok {
		t.Limit = opts.CostLimit
		return t.Program(expr, root), nil
	}
	return compileCEL(checked, expr, opts)
}

// parseExpr parses and checks an expression.
func parseExpr(expr string, opts Options) (*cel.Ast, error) {
	if len(expr) > opts.MaxLength {
		return nil, &filter.Error{Expr: expr, Message: fmt.Sprintf(
			"%d bytes, at most %d are allowed", len(expr), opts.MaxLength)}
	}
	if !utf8.ValidString(expr) {
		return nil, &filter.Error{Expr: expr, Message: "not UTF-8"}
	}
	if strings.TrimSpace(expr) == "" {
		return nil, &filter.Error{Expr: expr, Message: "the expression is empty"}
	}
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("filter: declare the language: %w", err)
	}
	checked, err := check(env, expr)
	if err != nil {
		return nil, err
	}
	estimate, err := env.EstimateCost(checked, anySize{})
	if err != nil {
		return nil, &filter.Error{Expr: expr, Message: err.Error()}
	}
	if estimate.Min > opts.CostLimit {
		return nil, &filter.Error{Expr: expr, Message: fmt.Sprintf(
			"costs at least %d units for each feature, at most %d are allowed",
			estimate.Min, opts.CostLimit)}
	}
	return checked, nil
}

// compileCEL is the program that CEL itself evaluates.
func compileCEL(checked *cel.Ast, expr string, opts Options) (*filter.Program, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	eval, err := env.Program(checked,
		cel.EvalOptions(cel.OptOptimize),
		cel.CostTracking(prices{}),
		cel.CostLimit(opts.CostLimit),
		cel.CustomDecoratorV2(stepping(loopSteps(checked.NativeRep()))))
	if err != nil {
		return nil, &filter.Error{Expr: expr, Message: err.Error()}
	}
	return filter.New(expr, opts.CostLimit, &evaluator{eval: eval}), nil
}

// NewCache returns a cache of at most size programs of expressions. The largest
// programs of 4096 bytes of text take about 300 KB, usual ones a few KB.
func NewCache(size int) *filter.Cache {
	return filter.NewCache(size, func(expr string) (*filter.Program, error) { return Compile(expr, Options{}) })
}

// anySize lets CEL estimate the cost without a feature.
type anySize struct{}

func (anySize) EstimateSize(cost.AstNode) *cost.SizeEstimate { return nil }

func (anySize) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}
