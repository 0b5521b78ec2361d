package cql2

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// MaxBytes bounds a filter: 1,000 positions of polygons, half of what headers
	// may have.
	MaxBytes = 32 << 10
	// maxDepth bounds nested parentheses and NOTs, as package filter does.
	maxDepth = 64
)

// parser is a recursive-descent parser of texts. It fails by panicking with an *Error,
// which Parse recovers.
type parser struct {
	lexer
	tok   token
	depth int
}

// Parse reads a filter in CQL2 text. has describes the properties. Errors are *Error
// and have a Column.
func Parse(s string, has Properties) (f *Filter, err error) {
	defer recovered(&f, &err)
	if len(s) > MaxBytes {
		return nil, tooLong(s)
	}
	p := &parser{lexer: lexer{s: s}}
	p.step()
	n := p.or()
	if p.tok.kind != end {
		p.fail(p.tok, "%v, want AND, OR or the end", p.tok)
	}
	t := translator{properties: has, errorAt: func(at place, message string) *Error { return errorAt(s, at.byte, message) }}
	return t.compile(n, s, false), nil
}

func tooLong(s string) *Error {
	return &Error{Column: 1, Message: fmt.Sprintf("the filter has %d bytes, at most %d are accepted", len(s), MaxBytes)}
}

// errorAt is an error at a byte offset of a text.
func errorAt(s string, at int, message string) *Error {
	return &Error{Column: utf8.RuneCountInString(s[:at]) + 1, Message: message}
}

// recovered, deferred, turns a panic with an *Error into the error of the function.
func recovered(f **Filter, err *error) {
	if v := recover(); v != nil {
		bad, ok := v.(*Error)
		if !ok {
			panic(v)
		}
		*f, *err = nil, bad
	}
}

func (p *parser) step() { p.tok = p.next() }

func (p *parser) fail(t token, format string, args ...any) {
	panic(errorAt(p.s, t.at, fmt.Sprintf(format, args...)))
}

// take consumes a keyword or symbol if it is the next token.
func (p *parser) take(word string) bool {
	if !p.tok.is(word) {
		return false
	}
	p.step()
	return true
}

func (p *parser) want(word string) {
	if !p.take(word) {
		p.fail(p.tok, "%v, want %s", p.tok, word)
	}
}

// called reports whether the token is a name followed by a parenthesis.
func (p *parser) called() bool {
	behind := p.lexer
	return p.tok.kind == name && behind.next().is("(")
}

func (p *parser) deeper() {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.tok, "nests deeper than %d", maxDepth)
	}
}

func op(op string, at place, args ...*node) *node { return &node{op: op, args: args, at: at} }

// at is the place of a token.
func at(t token) place { return place{byte: t.at} }

func (p *parser) or() *node { return p.joined(opOr, p.and) }

func (p *parser) and() *node { return p.joined(opAnd, p.not) }

func (p *parser) joined(word string, part func() *node) *node {
	begin := p.tok
	n := part()
	if !p.tok.is(word) {
		return n
	}
	n = op(word, at(begin), n)
	for p.take(word) {
		n.args = append(n.args, part())
	}
	return n
}

func (p *parser) not() *node {
	p.deeper()
	defer func() { p.depth-- }()
	begin := p.tok
	if p.take("not") {
		return op(opNot, at(begin), p.not())
	}
	if p.take("(") {
		n := p.or()
		p.want(")")
		return n
	}
	return p.predicate()
}

func (p *parser) predicate() *node {
	begin := p.tok
	if p.called() {
		if f, ok := functions[strings.ToUpper(begin.text)]; ok && f.op != opCasei {
			return p.call(f)
		}
	}
	left := p.operand()
	not := p.take("not")
	n := left
	switch {
	case p.take("between"):
		low := p.operand()
		p.want("and")
		n = op(opBetween, at(begin), left, low, p.operand())
	case p.take("in"):
		all := &node{form: list, at: at(p.tok)}
		p.list(func() { all.args = append(all.args, p.operand()) })
		n = op(opIn, at(begin), left, all)
	case p.take("like"):
		n = op(opLike, at(begin), left, p.operand())
	case not:
		p.fail(p.tok, "%v, want BETWEEN, IN or LIKE", p.tok)
	case p.take("is"):
		not = p.take("not")
		p.want("null")
		n = op(opIsNull, at(begin), left)
	default:
		for _, o := range []string{"=", "<>", "<=", ">=", "<", ">"} {
			if p.take(o) {
				return op(o, at(begin), left, p.operand())
			}
		}
		// A boolean property, or a boolean literal.
		if left.form != property && left.form != boolean {
			p.fail(p.tok, "%v, want a comparison", p.tok)
		}
	}
	if not {
		return op(opNot, at(begin), n)
	}
	return n
}

// call parses a function with its arguments.
func (p *parser) call(f function) *node {
	p.deeper()
	defer func() { p.depth-- }()
	n := op(f.op, at(p.tok))
	p.step()
	p.want("(")
	for i := range f.args {
		if i > 0 {
			p.want(",")
		}
		n.args = append(n.args, p.argument())
	}
	p.want(")")
	return n
}

// list parses ( x, x, ... ).
func (p *parser) list(x func()) {
	p.want("(")
	x()
	for p.take(",") {
		x()
	}
	p.want(")")
}
