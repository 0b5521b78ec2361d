package cql2

import (
	"strconv"
	"strings"
	"time"
)

// operand is a property or a literal, in the language of package filter.
type operand struct {
	cel      string
	property bool
	own      string // of a property: cel, before it may have become a time
	quoted   string // of a property: its name
	time     bool   // of a literal
}

func (p *parser) operand() operand {
	t := p.tok
	if t.kind != quoted && (t.kind != name || p.isLiteral()) {
		return p.literal()
	}
	for _, word := range []string{"and", "or", "not", "in", "like", "between", "is", "null"} {
		if t.is(word) {
			p.fail(t, "%v, want a property or a literal", t)
		}
	}
	p.step()
	if p.tok.is("(") {
		p.fail(t, "function %v is unknown", t)
	}
	if !p.known(t.text) {
		p.fail(t, "property %v is unknown: the collection's queryables have all", t)
	}
	q := strconv.Quote(t.text)
	return operand{cel: "properties[" + q + "]", own: "properties[" + q + "]", property: true, quoted: q}
}

func (p *parser) isLiteral() bool {
	return p.tok.is("true") || p.tok.is("false") || p.tok.is("date") || p.tok.is("timestamp")
}

func (p *parser) literal() operand {
	t := p.tok
	switch {
	case t.kind == text:
		p.step()
		return operand{cel: strconv.Quote(t.text)}
	case t.kind == number || t.is("-") || t.is("+"):
		return operand{cel: p.numeral()}
	case t.is("true") || t.is("false"):
		p.step()
		return operand{cel: strings.ToLower(t.text)}
	case t.is("date") || t.is("timestamp"):
		return p.time()
	}
	p.fail(t, "%v, want a property or a literal", t)
	return operand{}
}

// number takes one with its sign.
func (p *parser) number() float64 {
	t, sign := p.tok, 1.0
	switch {
	case p.take("-"):
		sign = -1
	case p.take("+"):
	}
	if p.tok.kind != number {
		p.fail(p.tok, "%v, want a number", p.tok)
	}
	f, err := strconv.ParseFloat(p.tok.text, 64)
	if err != nil {
		p.fail(t, "%v is no number from -1.8e308 to 1.8e308", p.tok)
	}
	p.step()
	return sign * f
}

// numeral takes a number, which is a literal of package filter, too: an integer
// where it is one, which is exact.
func (p *parser) numeral() string {
	sign := ""
	if p.tok.is("-") {
		sign = "-"
	}
	digits := p.lexer // where the digits are, if there is a sign
	t := p.tok
	if t.kind == symbol {
		t = digits.next()
	}
	f := p.number()
	if n, err := strconv.ParseInt(sign+t.text, 10, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func (p *parser) time() operand {
	layout, form := time.RFC3339, "TIMESTAMP('2024-05-01T12:00:00Z')"
	if p.tok.is("date") {
		layout, form = time.DateOnly, "DATE('2024-05-01')"
	}
	p.step()
	p.want("(")
	t := p.tok
	moment, err := time.Parse(layout, t.text)
	if t.kind != text || err != nil || moment.UTC().Year() < 1 || moment.UTC().Year() > 9999 {
		p.fail(t, "%v, want a time such as %s", t, form)
	}
	p.step()
	p.want(")")
	return operand{cel: `timestamp("` + moment.UTC().Format(time.RFC3339Nano) + `")`, time: true}
}

// instant is the time that a property's text means: a date is its first moment.
func instant(cel string) string {
	return "(size(" + cel + ") == 10 ? timestamp(" + cel + ` + "T00:00:00Z") : timestamp(` + cel + "))"
}
