package filter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/interpreter"

	"github.com/catfish-index/catfish/feature"
)

// Options limit one expression. The zero value means the defaults.
type Options struct {
	// CostLimit bounds one evaluation, in units of CEL's cost: 1 for looking up
	// a name, comparing or calling, and 1 for each ten bytes of strings or
	// properties that are read. Default 100000, a thousand times what most
	// filters take: the worst evaluations that we found end there after 20 ms.
	// A Stepper lets other work run in between.
	CostLimit uint64
	// MaxLength of an expression, in bytes. Default 4096.
	MaxLength int
}

const (
	defaultCost   = 100_000
	defaultLength = 4096
)

func (o Options) withDefaults() Options {
	if o.CostLimit == 0 {
		o.CostLimit = defaultCost
	}
	// The limit in bytes must not overflow either.
	o.CostLimit = min(o.CostLimit, math.MaxInt/bytesPerUnit)
	if o.MaxLength <= 0 {
		o.MaxLength = defaultLength
	}
	return o
}

// Input is what a filter reads of a feature. An evaluation changes nothing of
// it, and keeps nothing afterwards.
type Input struct {
	ID         []byte    // `id`, a string
	Type       string    // `type`, the geometry's: "Point"; "" if there is none
	Properties []byte    // `properties`, a JSON object; empty or null is {}
	Revision   uint64    // `revision`
	Expires    time.Time // `expires`; the zero time is never, null in CEL
	Now        time.Time // `now`
	// View of the feature, for Tree.Place.
	View *feature.View
}

// Program is a compiled filter. It is safe for concurrent use.
type Program struct {
	text   string
	limit  uint64
	eval   cel.Program
	simple *simple // nil if the expression is not simple
	root   int     // of simple
	also   *Program
	vars   sync.Pool
}

// Compile compiles an expression, which must be a condition. The error is an
// *Error, which is an ErrFilter, unless the library itself fails.
func Compile(expr string, opts Options) (*Program, error) {
	opts = opts.withDefaults()
	if len(expr) > opts.MaxLength {
		return nil, &Error{Expr: expr, Message: fmt.Sprintf(
			"%d bytes, at most %d are allowed", len(expr), opts.MaxLength)}
	}
	if !utf8.ValidString(expr) {
		return nil, &Error{Expr: expr, Message: "not UTF-8"}
	}
	if strings.TrimSpace(expr) == "" {
		return nil, &Error{Expr: expr, Message: "the expression is empty"}
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
		return nil, &Error{Expr: expr, Message: err.Error()}
	}
	if estimate.Min > opts.CostLimit {
		return nil, &Error{Expr: expr, Message: fmt.Sprintf(
			"costs at least %d units for each feature, at most %d are allowed",
			estimate.Min, opts.CostLimit)}
	}
	p := &Program{text: expr, limit: opts.CostLimit, simple: compileSimple(checked.NativeRep())}
	if p.simple != nil {
		p.root = len(p.simple.nodes) - 1
	}
	p.eval, err = env.Program(checked,
		cel.EvalOptions(cel.OptOptimize),
		cel.CostTracking(prices{}),
		cel.CostLimit(opts.CostLimit),
		cel.CustomDecoratorV2(stepping(loopSteps(checked.NativeRep()))))
	if err != nil {
		return nil, &Error{Expr: expr, Message: err.Error()}
	}
	return p, nil
}

// anySize lets CEL estimate the cost without a feature.
type anySize struct{}

func (anySize) EstimateSize(cost.AstNode) *cost.SizeEstimate { return nil }

func (anySize) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}

// String returns the expression as it was given. It compiles to an equal
// program on any machine, unless it is of a Tree. "" of nil.
func (p *Program) String() string {
	if p == nil {
		return ""
	}
	return p.text
}

// And is the program that holds where p and q do; nil holds everywhere.
func (p *Program) And(q *Program) *Program {
	if p == nil || q == nil {
		return cmp.Or(p, q)
	}
	return &Program{text: q.text, limit: q.limit, eval: q.eval, simple: q.simple, root: q.root, also: q.also.And(p)}
}

// Match reports whether the filter is true for a feature. A member that the
// feature does not have makes the filter unknown, which is no match (see the
// package comment). An error is an ErrCost or an ErrProperties.
func (p *Program) Match(f Input) (bool, error) {
	return p.MatchIn(f, nil)
}

// MatchContext is Match that ends early when ctx does, with its error.
func (p *Program) MatchContext(ctx context.Context, f Input) (bool, error) {
	if ctx.Done() == nil {
		return p.MatchIn(f, nil)
	}
	d := &deadline{ctx}
	if err := d.Step(); err != nil {
		return false, err
	}
	return p.MatchIn(f, d)
}

// MatchIn is Match in steps, which take less than a millisecond; nil: in one.
func (p *Program) MatchIn(f Input, steps Stepper) (bool, error) {
	if p.also != nil {
		if ok, err := p.also.MatchIn(f, steps); !ok || err != nil {
			return false, err
		}
	}
	if p.simple != nil {
		return p.matchSimple(&f, steps)
	}
	return p.matchCEL(&f, steps)
}

// matchCEL evaluates the expression by CEL.
func (p *Program) matchCEL(f *Input, steps Stepper) (bool, error) {
	v, _ := p.vars.Get().(*variables)
	if v == nil {
		v = new(variables)
	}
	v.in = *f
	v.r.begin(f.Properties, p.limit, steps)
	out, _, err := p.eval.Eval(v)
	failed := v.r.err(p)
	*v = variables{}
	p.vars.Put(v)
	if failed != nil {
		return false, failed
	}
	if err == nil {
		return out == types.True, nil
	}
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded {
		return false, p.costError()
	}
	if types.IsError(out) {
		// A feature that the expression did not expect: a missing name, a
		// string where it wants a number, a division by 0.
		return false, nil
	}
	return false, fmt.Errorf("filter: evaluate: %w", err)
}

func (p *Program) costError() error {
	return fmt.Errorf("%w: %.100q takes more than %d units with one feature", ErrCost, p.text, p.limit)
}

// variables resolves the variables of one evaluation on demand.
type variables struct {
	in Input
	r  reader
}

// ResolveName implements cel.Activation.
func (v *variables) ResolveName(name string) (any, bool) {
	switch name {
	case varProperties:
		return v.r.val(value{kind: object, s: v.r.props}), true
	case varID:
		return types.String(v.in.ID), true
	case varType:
		return types.String(v.in.Type), true
	case varRevision:
		return v.r.val(unsignedValue(v.in.Revision)), true
	case varExpires:
		if v.in.Expires.IsZero() {
			return types.NullValue, true
		}
		return types.Timestamp{Time: v.in.Expires}, true
	case varNow:
		return types.Timestamp{Time: v.in.Now}, true
	case runName:
		return v, true
	}
	return nil, false
}

// Parent implements cel.Activation.
func (v *variables) Parent() cel.Activation { return nil }
