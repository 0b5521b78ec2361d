package cel

import (
	"regexp"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"github.com/catfish-index/catfish/internal/feature/filter/internal/props"
)

// CEL charges a call after it, and nothing ends a running one. So operations that read
// much data are replaced by ones which the reader charges (package props). CEL charges
// the bodies of loops: their iterations count for steps alone.

// runName is the name by which the parts of a program find the variables of the
// evaluation: no name in CEL begins so.
const runName = "#run"

// runOf returns the reader of a frame's evaluation.
func runOf(f *interpreter.ExecutionFrame) *props.Reader {
	v, _ := f.ResolveName(runName)
	return &v.(*variables).r
}

// stepping replaces the parts of a program that read much data by counting ones.
func stepping(loops map[int64]bool) interpreter.InterpretableDecoratorV2 {
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if loops[i.ID()] {
			return &turn{i}, nil
		}
		call, ok := i.(interpreter.InterpretableCall)
		if !ok {
			return i, nil
		}
		switch args := call.Args(); call.Function() {
		case overloads.Matches:
			return newMatching(call.ID(), args)
		case foldCase:
			return &folding{unary{call.ID(), args[0]}}, nil
		}
		return i, nil
	}
}

// loopSteps returns the ids of the expressions evaluated in each iteration of a loop.
func loopSteps(a *ast.AST) map[int64]bool {
	ids := map[int64]bool{}
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			ids[e.AsComprehension().LoopStep().ID()] = true
		}
	}))
	return ids
}

// turn is one iteration of a loop.
type turn struct{ interpreter.InterpretableV2 }

func (t *turn) Exec(f *interpreter.ExecutionFrame) ref.Val {
	if r := runOf(f); !r.Step(props.LoopBytes) {
		return types.WrapErr(errRead)
	}
	return t.InterpretableV2.Exec(f)
}

func (t *turn) Eval(a interpreter.Activation) ref.Val { return interpreter.EvalActivation(a, t.Exec) }

// unary is a function of a string.
type unary struct {
	id  int64
	arg interpreter.InterpretableV2
}

func (c *unary) ID() int64 { return c.id }

// of returns the string, or else the error.
func (c *unary) of(f *interpreter.ExecutionFrame) (types.String, ref.Val) {
	v := c.arg.Exec(f)
	s, ok := v.(types.String)
	switch {
	case ok:
		return s, nil
	case types.IsUnknownOrError(v):
		return "", v
	}
	return "", types.MaybeNoSuchOverloadErr(v)
}

// matching is `matches` with a literal.
type matching struct {
	unary
	re   *regexp.Regexp
	size int // instructions
}

func newMatching(id int64, args []interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	literal, ok := args[1].(interpreter.InterpretableConst)
	if !ok {
		return nil, errPattern // checkPattern found a literal.
	}
	pattern, ok := literal.Value().(types.String)
	if !ok {
		return nil, errPattern
	}
	m := &matching{unary: unary{id, args[0]}}
	var err error
	if m.size, err = props.ProgramSize(string(pattern)); err == nil {
		m.re, err = regexp.Compile(string(pattern))
	}
	return m, err
}

func (m *matching) Exec(f *interpreter.ExecutionFrame) ref.Val {
	s, failed := m.of(f)
	if failed != nil {
		return failed
	}
	r := runOf(f)
	found := props.MatchPattern(r, m.re, m.size, string(s))
	if r.Fault != props.Sound {
		return types.WrapErr(errRead)
	}
	return types.Bool(found)
}

func (m *matching) Eval(a interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(a, m.Exec)
}

// folding is foldCase.
type folding struct{ unary }

func (o *folding) Exec(f *interpreter.ExecutionFrame) ref.Val {
	s, failed := o.of(f)
	if failed != nil {
		return failed
	}
	folded, ok := props.FoldCase(runOf(f), string(s))
	if !ok {
		return types.WrapErr(errRead)
	}
	return types.String(folded)
}

func (o *folding) Eval(a interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(a, o.Exec)
}
