package filter

import (
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter/internal/props"
)

// Tree is a program under construction, test by test. Null is unknown to its tests, but
// Test, as in SQL, and a negation of unknown is unknown: so all operators have three
// values, and NOT needs no rewriting.
// A Test belongs to the tree that made it.
type Tree struct {
	Limit    uint64 // of an evaluation; 0: DefaultCost
	nodes    []node
	names    []string // of properties that the fields begin with
	patterns int      // instructions
}

// Test is a condition of a Tree.
type Test int

// Operand is a property or a literal.
type Operand struct {
	// fields of a property: the first counts whose first name the feature has, or else
	// the last. Empty: literal.
	fields  []field
	literal props.Value
	fold    bool // case-folded
	time    bool // a text as a time
	at      time.Time
}

// more is what tests of a Tree have.
type more struct {
	how         string
	left, right Operand
	literals    []Operand
	re          *regexp.Regexp
	size        int // of re, in instructions
	place       Area
}

// Property is a property by its possible paths: a name of a property, and names in the
// objects below. The first path counts whose first name a feature has, or else the last.
func (t *Tree) Property(paths [][]string) (o Operand) {
	for _, p := range paths {
		f := t.property(p[0])
		f.path = p[1:]
		o.fields = append(o.fields, f)
	}
	return o
}

// Variable is "id", "type" or "revision".
func Variable(name string) Operand { return Operand{fields: []field{{variable: name}}} }

// Literal is nil, a string, int64, uint64, float64, bool or time.Time.
func Literal(v any) (o Operand) {
	switch v := v.(type) {
	case nil:
		o.literal.Kind = props.Null
	case uint64:
		o.literal = props.UnsignedValue(v)
	case string:
		o.literal = props.Value{Kind: props.Text, S: []byte(v)}
	case int64:
		o.literal = props.Value{Kind: props.Integer, Num: uint64(v)}
	case float64:
		o.literal = props.Value{Kind: props.Double, Num: math.Float64bits(v)}
	case bool:
		o.literal = props.Value{Kind: props.Boolean, Num: uint64(truthOf(v))}
	case time.Time:
		o.time, o.at = true, v
	}
	return o
}

// Folded is a property's text after case folding.
func (o Operand) Folded() Operand {
	o.fold = true
	return o
}

// Time is the time that a property's text denotes: a date is its first moment.
func (o Operand) Time() Operand {
	o.time = true
	return o
}

func (t *Tree) add(op Op, m more) Test {
	t.nodes = append(t.nodes, node{op: op, more: &m})
	return Test(len(t.nodes) - 1)
}

func (t *Tree) join(op Op, a, b Test) Test {
	t.nodes = append(t.nodes, node{op: op, left: int(a), right: int(b)})
	return Test(len(t.nodes) - 1)
}

// And holds where both do.
func (t *Tree) And(a, b Test) Test { return t.join(opAnd, a, b) }

// Or holds where one does.
func (t *Tree) Or(a, b Test) Test { return t.join(opOr, a, b) }

// Not is the negation; that of unknown is unknown.
func (t *Tree) Not(a Test) Test { return t.join(opNot, a, 0) }

// Constant is true or false.
func (t *Tree) Constant(is bool) Test { return t.join(opConstant, Test(truthOf(is)), 0) }

// Compare is one of = <> < > <= >=.
func (t *Tree) Compare(a Operand, how string, b Operand) Test {
	return t.add(opCompared, more{left: a, how: how, right: b})
}

// IsTrue holds for true, and is unknown of what is no boolean.
func (t *Tree) IsTrue(a Operand) Test { return t.Compare(a, "is", Literal(true)) }

// Among holds if a equals a literal.
func (t *Tree) Among(a Operand, literals []Operand) Test {
	return t.add(opAmong, more{left: a, literals: literals})
}

// Null holds if a property is missing or null.
func (t *Tree) Null(a Operand) Test { return t.add(opNull, more{left: a}) }

// IsTime holds if a is a time, and is unknown otherwise.
func (t *Tree) IsTime(a Operand) Test { return t.add(opTime, more{left: a}) }

// Test tests a by CEL's rules: null is a value there, which differs from others.
func (t *Tree) Test(o Op, a Operand, literals ...Operand) Test {
	n := node{op: o, field: a.fields[0]}
	for _, l := range literals {
		n.literals = append(n.literals, l.literal)
	}
	t.nodes = append(t.nodes, n)
	return Test(len(t.nodes) - 1)
}

// NoGeometry holds for features without a geometry.
func (t *Tree) NoGeometry() Test { return t.Test(OpEqual, Variable("type"), Literal("")) }

// Like compares a text with the beginning, the end or a part.
func (t *Tree) Like(a Operand, first, last bool, part string) Test {
	how := map[[2]bool]string{{true, true}: "contains", {true, false}: "ends", {false, true}: "begins"}
	return t.add(opLike, more{left: a, how: how[[2]bool{first, last}], right: Literal(part)})
}

// Matches applies a regular expression to a text. The error is of the expression.
func (t *Tree) Matches(a Operand, pattern string) (Test, error) {
	size, err := props.PatternSize(pattern, &t.patterns)
	if err != nil {
		return 0, err
	}
	re, err := regexp.Compile(pattern)
	return t.add(opLike, more{left: a, re: re, size: size}), err
}

// Array is a property, or a list of literals.
type Array struct {
	Of       Operand
	Elements []Operand // of a list; nil: Of
}

// Sets compares arrays as sets: a contains b, is contained, equals or overlaps it. An
// object is the set of its names. A property that is no array is unknown.
func (t *Tree) Sets(a Array, how Relation, b Array) Test {
	return t.add(opSets, more{how: string(how), left: a.operand(), right: b.operand()})
}

// Relation of two sets.
type Relation string

// Relations.
const (
	Contains  Relation = "contains"
	Contained Relation = "contained"
	Equals    Relation = "equals"
	Overlaps  Relation = "overlaps"
)

// operand is a list as an array of JSON.
func (a Array) operand() Operand {
	if a.Elements == nil {
		return a.Of
	}
	all := make([]any, len(a.Elements))
	for i, e := range a.Elements {
		switch l := e.literal; l.Kind {
		case props.Text:
			all[i] = string(l.S)
		case props.Integer:
			all[i] = int64(l.Num)
		case props.Double:
			all[i] = json.RawMessage(strconv.FormatFloat(l.Float(), 'e', -1, 64)) // no integer
		default:
			all[i] = l.Num == 1
		}
	}
	b, _ := json.Marshal(all) // These values always have a text.
	return Operand{literal: props.Value{Kind: props.Array, S: b}}
}

// Area decides about geometries: a feature.Query.
type Area interface {
	MatchIn(v *feature.View, s *feature.Steps) (bool, error)
}

// Place holds if a geometry is in an area. It is unknown of features without one.
func (t *Tree) Place(of Area) Test { return t.add(opPlace, more{place: of}) }

// Program is the program of a test. The text is for errors, and names the program.
func (t *Tree) Program(text string, root Test) *Program {
	return &Program{text: text, limit: cmp.Or(t.Limit, DefaultCost), tree: t, root: int(root)}
}
