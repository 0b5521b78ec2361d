package cql2

import (
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/store"
)

// Filter is a filter of features: all that it has must hold. It is immutable.
type Filter struct {
	Where *filter.Program // nil: none
	// Area and Relation, if Properties.Split: the first area that must hold for the whole
	// to hold, which a store can search for. Where does not have it. nil: none.
	Area     *store.Area
	Relation feature.Relation
}

// compile builds the program of a filter, whose text it is.
func (t *translator) compile(n *node, text string, isJSON bool) *Filter {
	f := t.compiled(n, text)
	if f.Where != nil {
		f.Where = f.Where.From(&source{text, isJSON, t.properties.Split, t.known})
	}
	return f
}

func (t *translator) compiled(n *node, text string) *Filter {
	var f Filter
	if !t.properties.Split {
		f.Where = t.tree.Program(text, t.condition(n))
		return &f
	}
	all := t.operands(nil, n, false)
	var root filter.Test
	for _, o := range all {
		if f.Area == nil && t.isArea(o) {
			f.Area, f.Relation, _ = t.area(o.node)
			continue
		}
		x := t.condition(o.node)
		if o.neg {
			x = t.tree.Not(x)
		}
		if f.Where != nil {
			x = t.tree.And(root, x)
		}
		root, f.Where = x, t.tree.Program(text, x)
	}
	return &f
}

// conjunct is a condition that must hold, or not hold if neg.
type conjunct struct {
	node *node
	neg  bool
}

// operands appends what must hold for n to hold, or for its negation.
func (t *translator) operands(all []conjunct, n *node, neg bool) []conjunct {
	switch {
	case n.form == operation && n.op == opNot:
		return t.operands(all, n.args[0], !neg)
	case n.form == operation && (n.op == opAnd && !neg || n.op == opOr && neg):
		for _, a := range n.args {
			all = t.operands(all, a, neg)
		}
		return all
	}
	return append(all, conjunct{n, neg})
}

func (t *translator) isArea(o conjunct) bool {
	n := o.node
	_, ok := relations[n.op]
	return n.form == operation && (ok || n.op == opDWithin) && o.neg == (n.op == opDisjoint)
}
