package filter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter/internal/props"
)

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
	text  string
	limit uint64
	tree  *Tree
	root  int       // of tree
	other Evaluator // if tree is nil
	also  *Program

	source fmt.Stringer // of a tree's program: what makes an equal one
}

// DefaultCost bounds one evaluation, in units of CEL's cost: 1 for looking up a name,
// comparing or calling, and 1 for each ten bytes of strings or properties that are read.
// It is a thousand times what most filters take: the worst evaluations that we found end
// there after 20 ms. A Stepper lets other work run in between.
const DefaultCost = 100_000

// Stepper lets other work run in the middle of an evaluation, or ends it.
type Stepper = props.Stepper

// Evaluator evaluates a condition that a Tree cannot say (package cel).
type Evaluator interface {
	// Evaluate reports whether the condition is true. Its error may be ErrCost itself.
	Evaluate(f Input, limit uint64, steps Stepper) (bool, error)
}

// New is the program of an evaluator. The text is for errors, and names the program.
func New(text string, limit uint64, e Evaluator) *Program {
	return &Program{text: text, limit: limit, other: e}
}

// String returns the expression as it was given. It compiles to an equal
// program on any machine, unless it is of a Tree. "" of nil.
func (p *Program) String() string {
	if p == nil {
		return ""
	}
	return p.text
}

// From returns the program with its source: a text of which another process makes an equal
// program.
func (p *Program) From(source fmt.Stringer) *Program {
	q := *p
	q.source = source
	return &q
}

// Sources are those of the programs that And has joined; none of nil. It reports false if one
// has none.
func (p *Program) Sources() (all []string, ok bool) {
	for ; p != nil; p = p.also {
		if p.source == nil {
			return nil, false
		}
		all = append(all, p.source.String())
	}
	return all, true
}

// And is the program that holds where p and q do; nil holds everywhere.
func (p *Program) And(q *Program) *Program {
	if p == nil || q == nil {
		return cmp.Or(p, q)
	}
	both := *q
	both.also = q.also.And(p)
	return &both
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
	var ok bool
	var err error
	if p.tree != nil {
		ok, err = p.tree.match(p.root, &f, p.limit, steps)
	} else {
		ok, err = p.other.Evaluate(f, p.limit, steps)
	}
	if errors.Is(err, ErrCost) {
		err = fmt.Errorf("%w: %.100q takes more than %d units with one feature", err, p.text, p.limit)
	}
	return ok, err
}

// deadline makes steps of a context.
type deadline struct{ ctx context.Context }

func (d *deadline) Step() error { return context.Cause(d.ctx) }
