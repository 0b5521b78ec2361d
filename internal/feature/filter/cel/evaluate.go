package cel

import (
	"errors"
	"fmt"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/interpreter"

	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/feature/filter/internal/props"
)

// evaluator evaluates an expression by CEL.
type evaluator struct {
	eval cel.Program
	vars sync.Pool
}

// Evaluate implements filter.Evaluator.
func (p *evaluator) Evaluate(f filter.Input, limit uint64, steps filter.Stepper) (bool, error) {
	v, _ := p.vars.Get().(*variables)
	if v == nil {
		v = new(variables)
	}
	v.in = f
	v.r.Begin(f.Properties, limit, steps)
	out, _, err := p.eval.Eval(v)
	failed := v.r.Err()
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
		return false, filter.ErrCost
	}
	if types.IsError(out) {
		// A feature that the expression did not expect: a missing name, a
		// string where it wants a number, a division by 0.
		return false, nil
	}
	return false, fmt.Errorf("filter: evaluate: %w", err)
}

// variables resolves the variables of one evaluation on demand.
type variables struct {
	in filter.Input
	r  props.Reader
}

// ResolveName implements cel.Activation.
func (v *variables) ResolveName(name string) (any, bool) {
	switch name {
	case varProperties:
		return val(&v.r, props.Value{Kind: props.Object, S: v.r.Props}), true
	case varID:
		return types.String(v.in.ID), true
	case varType:
		return types.String(v.in.Type), true
	case varRevision:
		return val(&v.r, props.UnsignedValue(v.in.Revision)), true
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
