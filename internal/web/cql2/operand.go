package cql2

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// reserved are names that are properties only in quotes.
var reserved = []string{"AND", "OR", "NOT", "IN", "LIKE", "BETWEEN", "IS", "NULL"}

// operand parses a property, a literal, or a function of one.
func (p *parser) operand() *node {
	t := p.tok
	n := &node{at: at(t), text: t.text}
	switch {
	case t.kind == quoted:
		n.form = property
	case t.kind == text:
		n.form = character
	case t.kind == number || t.is("-") || t.is("+"):
		n.form = numeral
		n.text, _ = p.number()
		return n
	case t.is("true") || t.is("false"):
		n.form, n.text = boolean, strings.ToLower(t.text)
	case t.is("date"):
		return p.instant(date)
	case t.is("timestamp"):
		return p.instant(timestamp)
	case t.kind != name || slices.Contains(reserved, strings.ToUpper(t.text)):
		p.fail(t, "%v, want a property or a literal", t)
	case p.called():
		f, ok := functions[strings.ToUpper(t.text)]
		if !ok {
			p.fail(t, "function %v is unknown%s", t, likelyMeant(t.text))
		}
		return p.call(f)
	default:
		n.form = property
	}
	p.step()
	return n
}

// likelyMeant suggests functions for an unknown function name.
func likelyMeant(name string) string {
	if len(name) < 2 || name[1] != '_' {
		return ""
	}
	var all []string
	for f := range functions {
		if strings.HasPrefix(f, strings.ToUpper(name[:2])) {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return ", want one of " + strings.Join(all, ", ")
}

// number parses a number with its sign, and returns its text and its value.
func (p *parser) number() (string, float64) {
	t, sign := p.tok, ""
	switch {
	case p.take("-"):
		sign = "-"
	case p.take("+"):
	}
	if p.tok.kind != number {
		p.fail(p.tok, "%v, want a number", p.tok)
	}
	s := sign + p.tok.text
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		p.fail(t, "%v is no number from -1.8e308 to 1.8e308", p.tok)
	}
	p.step()
	return s, f
}

// instant parses DATE('...') or TIMESTAMP('...').
func (p *parser) instant(f form) *node {
	n := &node{form: f, at: at(p.tok)}
	p.step()
	p.want("(")
	t := p.tok
	ok := t.kind == text
	if ok {
		n.text = t.text
		n.moment, ok = momentOf(f, t.text)
	}
	if !ok {
		p.fail(t, "%v, want a time such as %s", t, map[form]string{date: "DATE('2024-05-01')", timestamp: "TIMESTAMP('2024-05-01T12:00:00Z')"}[f])
	}
	p.step()
	p.want(")")
	return n
}

// interval parses INTERVAL('...', '...'), with properties or '..' as its ends.
func (p *parser) interval() *node {
	n := &node{form: interval, at: at(p.tok)}
	p.step()
	p.want("(")
	n.args = append(n.args, p.intervalEnd())
	p.want(",")
	n.args = append(n.args, p.intervalEnd())
	p.want(")")
	return n
}

func (p *parser) intervalEnd() *node {
	if p.tok.kind != text {
		return p.operand()
	}
	n, ok := intervalEndOf(p.tok.text)
	if !ok {
		p.fail(p.tok, "%v, want %s", p.tok, intervalEnds)
	}
	n.at = at(p.tok)
	p.step()
	return n
}

const intervalEnds = "a time such as 2024-05-01T12:00:00Z, a date, .. or a property"

// intervalEndOf is the interval end that a text denotes.
func intervalEndOf(s string) (n *node, ok bool) {
	if s == ".." {
		return &node{form: open}, true
	}
	n = &node{form: timestamp, text: s}
	if len(s) == len(time.DateOnly) {
		n.form = date
	}
	n.moment, ok = momentOf(n.form, s)
	return n, ok
}

// momentOf is the moment of a time, or the first moment of a date. Package filter
// computes with the years 1 to 9999.
func momentOf(f form, s string) (time.Time, bool) {
	layout := time.RFC3339
	if f == date {
		layout = time.DateOnly
	}
	t, err := time.Parse(layout, s)
	t = t.UTC()
	return t, err == nil && t.Year() >= 1 && t.Year() <= 9999
}
