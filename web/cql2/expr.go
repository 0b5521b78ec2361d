package cql2

import (
	"strings"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/store"
)

// Op is the kind of an Expr.
type Op uint8

// Ops.
const (
	Filter Op = iota // a condition of package filter
	Area             // a relation to an area
	And
	Or
)

// Expr is a filter: conditions and areas under AND and OR. It is immutable.
type Expr struct {
	Op   Op
	Args []*Expr // of And and Or: at least two
	// Filter is a condition that is true where the filter is true, and false or unknown
	// elsewhere.
	Filter string
	// Area and Relation; Not: the geometry exists, and they do not hold for it.
	Area     *store.Area
	Relation feature.Relation
	Not      bool
}

// join is e AND f, or e OR f. It merges conditions into one.
func join(op Op, e, f *Expr) *Expr {
	var args []*Expr
	at := -1 // index of the condition in args
	for _, x := range []*Expr{e, f} {
		parts := []*Expr{x}
		if x.Op == op {
			parts = x.Args
		}
		for _, p := range parts {
			if p.Op == Filter && at >= 0 {
				args[at] = &Expr{Filter: args[at].Filter + between(op) + parenthesised(op, p.Filter)}
				continue
			}
			if p.Op == Filter {
				at = len(args)
				p = &Expr{Filter: parenthesised(op, p.Filter)}
			}
			args = append(args, p)
		}
	}
	if len(args) == 1 {
		return args[0]
	}
	return &Expr{Op: op, Args: args}
}

func between(op Op) string {
	if op == And {
		return " && "
	}
	return " || "
}

// parenthesised is a condition that may be an operand of the operator.
func parenthesised(op Op, s string) string {
	if op == And && strings.Contains(s, " || ") {
		return "(" + s + ")"
	}
	return s
}
