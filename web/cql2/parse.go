package cql2

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// MaxBytes bounds a text: 1,000 positions of polygons, half of what headers
	// may have.
	MaxBytes = 32 << 10
	// maxDepth bounds parentheses and NOTs within each other, as package filter
	// does.
	maxDepth = 64
)

// parser is one of recursive descent. It fails by panicking with an *Error, which
// Parse recovers.
type parser struct {
	lexer
	tok   token
	known func(property string) bool
	depth int
}

// Parse reads a filter. known says which properties there are. Errors are *Error.
func Parse(s string, known func(property string) bool) (e *Expr, err error) {
	p := &parser{lexer: lexer{s: s}, known: known}
	defer func() {
		if v := recover(); v != nil {
			bad, ok := v.(*Error)
			if !ok {
				panic(v)
			}
			e, err = nil, bad
		}
	}()
	if len(s) > MaxBytes {
		return nil, &Error{1, fmt.Sprintf("the filter has %d bytes, at most %d are accepted", len(s), MaxBytes)}
	}
	p.step()
	e = p.or(false)
	if p.tok.kind != end {
		p.fail(p.tok, "%v, want AND, OR or the end", p.tok)
	}
	return e, nil
}

func (p *parser) step() { p.tok = p.next() }

func (p *parser) fail(t token, format string, args ...any) {
	panic(&Error{utf8.RuneCountInString(p.s[:t.at]) + 1, fmt.Sprintf(format, args...)})
}

// take steps over a keyword or symbol, if it is there.
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

func (p *parser) deeper() {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.tok, "nests deeper than %d", maxDepth)
	}
}

// or, and, not: neg says that the negation is wanted. That of AND is OR.
func (p *parser) or(neg bool) *Expr {
	op := Or
	if neg {
		op = And
	}
	e := p.and(neg)
	for p.take("or") {
		e = join(op, e, p.and(neg))
	}
	return e
}

func (p *parser) and(neg bool) *Expr {
	op := And
	if neg {
		op = Or
	}
	e := p.not(neg)
	for p.take("and") {
		e = join(op, e, p.not(neg))
	}
	return e
}

func (p *parser) not(neg bool) *Expr {
	p.deeper()
	defer func() { p.depth-- }()
	if p.take("not") {
		return p.not(!neg)
	}
	if p.take("(") {
		e := p.or(neg)
		p.want(")")
		return e
	}
	return p.predicate(neg)
}

func (p *parser) predicate(neg bool) *Expr {
	if p.tok.kind == name && strings.HasPrefix(strings.ToUpper(p.tok.text), "S_") {
		return p.spatial(neg)
	}
	begin := p.tok
	left := p.operand()
	if neg2 := p.take("not"); neg2 || p.tok.is("between") || p.tok.is("in") || p.tok.is("like") {
		neg = neg != neg2
		if !left.property {
			p.fail(begin, "%v, want a property before BETWEEN, IN and LIKE", begin)
		}
		switch {
		case p.take("between"):
			return p.between(left, neg)
		case p.take("in"):
			return p.in(left, neg)
		case p.take("like"):
			return p.like(left, neg)
		}
		p.fail(p.tok, "%v, want BETWEEN, IN or LIKE", p.tok)
	}
	if p.take("is") {
		if p.take("not") {
			neg = !neg
		}
		p.want("null")
		if !left.property {
			p.fail(begin, "%v, want a property before IS NULL", begin)
		}
		if neg {
			return cond(left.cel, " != null")
		}
		return &Expr{Filter: "!(" + left.quoted + " in properties) || " + left.cel + " == null"}
	}
	for _, op := range []string{"=", "<>", "<=", ">=", "<", ">"} {
		if p.take(op) {
			return p.compare(begin, left, op, neg)
		}
	}
	// A property that is true or false, or a literal that is.
	switch {
	case left.property && neg:
		return cond(left.cel, " == false")
	case left.property:
		return cond(left.cel, " == true")
	case left.cel == "true" || left.cel == "false":
		return &Expr{Filter: strconv.FormatBool((left.cel == "true") != neg)}
	}
	p.fail(p.tok, "%v, want a comparison", p.tok)
	return nil
}

func cond(parts ...string) *Expr { return &Expr{Filter: strings.Join(parts, "")} }

// opposites of comparisons.
var opposites = map[string]string{"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

func (p *parser) compare(begin token, left operand, op string, neg bool) *Expr {
	at := p.tok
	right := p.operand()
	if !left.property && !right.property {
		p.fail(begin, "%v, want a property on one side of %s", begin, op)
	}
	if neg {
		op = opposites[op]
	}
	if left.time != right.time {
		// The text of a property becomes a time.
		switch {
		case left.time && right.property:
			right.cel = instant(right.cel)
		case right.time && left.property:
			left.cel = instant(left.cel)
		default:
			p.fail(at, "%v, want times on both sides of %s, or a property", at, op)
		}
	}
	// Null is equal to nothing, and unequal to nothing.
	notNull := ""
	switch {
	case op == "<>" || op == "=" && left.property && right.property:
		for _, o := range []operand{left, right} {
			if o.property {
				notNull += o.own + " != null && "
			}
		}
	}
	switch op {
	case "=":
		op = "=="
	case "<>":
		op = "!="
	}
	return cond(notNull, left.cel, " ", op, " ", right.cel)
}

func (p *parser) between(o operand, neg bool) *Expr {
	low := p.literal()
	p.want("and")
	at := p.tok
	high := p.literal()
	if low.time != high.time {
		p.fail(at, "%v, want literals of one kind", at)
	}
	if low.time {
		o.cel = instant(o.cel)
	}
	if neg {
		return cond(o.cel, " < ", low.cel, " || ", o.cel, " > ", high.cel)
	}
	return cond(o.cel, " >= ", low.cel, " && ", o.cel, " <= ", high.cel)
}

func (p *parser) in(o operand, neg bool) *Expr {
	p.want("(")
	var all []string
	for {
		at := p.tok
		l := p.literal()
		if l.time {
			p.fail(at, "%v, want numbers, texts, TRUE or FALSE in a list", at)
		}
		all = append(all, l.cel)
		if !p.take(",") {
			break
		}
	}
	p.want(")")
	in := o.cel + " in [" + strings.Join(all, ", ") + "]"
	if neg {
		return cond(o.cel, " != null && !(", in, ")")
	}
	return cond(in)
}
