package cql2

import (
	"fmt"
	"strings"
	"time"

	"github.com/paulmach/orb"
)

// Syntax
//
// Both forms of a filter, text and JSON, are parsed into the same nodes, which
// translate.go checks and translates. So the accepted filters, their meaning and the
// error texts do not depend on the form.

// form is the kind of a node.
type form uint8

const (
	operation form = iota // op of args
	property              // text is its name
	character             // text
	numeral               // text, as written
	boolean               // text is "true" or "false"
	date                  // text, 2024-05-01
	timestamp             // text, 2024-05-01T12:00:00Z
	interval              // args: two of property, date, timestamp and open
	open                  // an open end of an interval
	list                  // args, of in and of array functions
	shape                 // geometry
	box                   // bbox
)

// node is a part of a filter, as written.
type node struct {
	form     form
	op       string // its name in CQL2 JSON
	args     []*node
	text     string
	moment   time.Time // of date and timestamp
	geometry orb.Geometry
	bbox     []float64
	at       place
}

// place is a node's place: a byte offset in a text, or a pointer in JSON.
type place struct {
	byte    int
	pointer *pointer
}

// pointer is the last step of a JSON pointer (RFC 6901), linked to the preceding steps.
type pointer struct {
	up   *pointer
	step string
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func (p *pointer) String() string {
	if p == nil || p.up == nil {
		return "" // the whole document
	}
	return p.up.String() + "/" + pointerEscapes.Replace(p.step)
}

// String is the node for an error, in the syntax of the text.
func (n *node) String() string {
	switch n.form {
	case property:
		return fmt.Sprintf("%.40q", n.text)
	case character, date, timestamp:
		return fmt.Sprintf("'%.40s'", n.text)
	case numeral, boolean:
		return fmt.Sprintf("%.40s", n.text)
	case operation:
		return strings.ToUpper(n.op)
	case interval:
		return "an INTERVAL"
	case list:
		return "a list"
	case open:
		return "'..'"
	case box:
		return "a BBOX"
	}
	return "a " + strings.ToUpper(n.geometry.GeoJSONType())
}

// Names of operations in CQL2 JSON. The text has the same names for functions, in any
// case.
const (
	opAnd     = "and"
	opOr      = "or"
	opNot     = "not"
	opBetween = "between"
	opIn      = "in"
	opLike    = "like"
	opIsNull  = "isNull"
	opCasei   = "casei"
)

// functions are the operations that the text writes as NAME(...), by their name there,
// with the number of their arguments.
var functions = func() map[string]function {
	all := map[string]function{"CASEI": {opCasei, 1}}
	for name := range relations {
		all[strings.ToUpper(name)] = function{name, 2}
	}
	all["S_DWITHIN"] = function{opDWithin, 3}
	for name := range temporals {
		all[strings.ToUpper(name)] = function{name, 2}
	}
	for name := range arrays {
		all[strings.ToUpper(name)] = function{name, 2}
	}
	return all
}()

type function struct {
	op   string
	args int
}

// arities of the operations that are not functions. and, or: two or more.
var arities = map[string]int{
	opAnd: 2, opOr: 2, opNot: 1, "=": 2, "<>": 2, "<": 2, ">": 2, "<=": 2, ">=": 2,
	opBetween: 3, opIn: 2, opLike: 2, opIsNull: 1,
}
