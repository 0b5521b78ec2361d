package filter

import (
	"context"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
	"golang.org/x/text/cases"
)

// An evaluation in steps
//
// CEL charges a call after it, and nothing ends a running one. So operations
// that read much data are charged while they do, by the reader, and the reader
// calls Stepper.Step in between:
//
//	reading properties   by the byte (iterator, cursor)
//	patterns             by the byte of the string and the instruction
//	foldCase             by the byte
//	loops                by the iteration, for steps alone: CEL charges their bodies
//
// Patterns take longest. Go's regexp takes 4 to 9 ns for a byte of the string
// and an instruction of the program, at worst, and is linear in both, but
// cannot be interrupted. It can read its input by the character, though. The
// input then counts, and ends when the evaluation must. That costs more than a
// string, so short strings, which take less than a step, are passed as strings.

// Stepper lets other work run in the middle of an evaluation, or ends it.
type Stepper interface {
	// Step is called after 10 to 150 us of an evaluation, and never in one that takes
	// less. Its error ends the evaluation, which returns it.
	Step() error
}

const (
	// stepBytes of properties are scanned between two steps, or as many pairs
	// of a byte and an instruction: 16,384 of those take 0.15 ms.
	stepBytes = 16 << 10
	// loopBytes is the count of one iteration of a loop: it takes 0.2 us or more.
	loopBytes = 64
	// foldBytes are folded in one call, which takes 13 ns for each.
	foldBytes = 1 << 10
)

// deadline makes steps of a context.
type deadline struct{ ctx context.Context }

func (d *deadline) Step() error { return context.Cause(d.ctx) }

// runName is the name by which the parts of a program find the variables of the
// evaluation: no name in CEL begins so.
const runName = "#run"

// runOf returns the reader of a frame's evaluation.
func runOf(f *interpreter.ExecutionFrame) *reader {
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
	if r := runOf(f); !r.step(loopBytes) {
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
	if m.size, err = programSize(string(pattern)); err == nil {
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
	found := matchPattern(r, m.re, m.size, string(s))
	if r.fault != sound {
		return types.WrapErr(errRead)
	}
	return types.Bool(found)
}

// matchPattern applies a pattern of that many instructions. The result means nothing after a fault.
func matchPattern(r *reader, re *regexp.Regexp, size int, s string) bool {
	if work := (len(s) + 1) * size; work <= stepBytes {
		return r.spend(work) && re.MatchString(s)
	}
	of := *r // A copy: regexp would move the caller's to the heap.
	found := re.MatchReader(&characters{r: &of, s: s, price: size})
	*r = of
	return found
}

func (m *matching) Eval(a interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(a, m.Exec)
}

// characters is a string that a pattern reads, at a price for each byte. It
// ends when the evaluation does; the pattern's result is then meaningless.
type characters struct {
	r     *reader
	s     string
	price int
}

func (c *characters) ReadRune() (rune, int, error) {
	char, n := utf8.DecodeRuneInString(c.s)
	if n == 0 || !c.r.spend(n*c.price) {
		return 0, 0, io.EOF
	}
	c.s = c.s[n:]
	return char, n, nil
}

// folding is foldCase.
type folding struct{ unary }

func (o *folding) Exec(f *interpreter.ExecutionFrame) ref.Val {
	s, failed := o.of(f)
	if failed != nil {
		return failed
	}
	folded, ok := foldString(runOf(f), string(s))
	if !ok {
		return types.WrapErr(errRead)
	}
	return types.String(folded)
}

// foldString is foldCase of a string; false after a fault.
func foldString(r *reader, rest string) (string, bool) {
	var all strings.Builder
	for fold := cases.Fold(); rest != ""; {
		n := min(foldBytes, len(rest))
		for n < len(rest) && !utf8.RuneStart(rest[n]) {
			n++
		}
		if !r.spend(n) {
			return "", false
		}
		all.WriteString(fold.String(rest[:n]))
		rest = rest[n:]
	}
	return all.String(), true
}

func (o *folding) Eval(a interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(a, o.Exec)
}
