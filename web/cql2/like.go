package cql2

import (
	"regexp"
	"strconv"
	"strings"
)

// like translates a pattern: % is any text, _ any character, and a backslash takes the
// next character literally. For patterns with % only at their ends package filter has
// shorter forms than regular expressions.
func (t *translator) like(n *node, neg bool) *Expr {
	o := t.operand(n.args[0])
	t.failUnless(o.own != "" || o.text, n.args[0], "%v, want a text or a property before LIKE", n.args[0])
	p := n.args[1]
	wanted := p
	for p.op == opCasei {
		p = p.args[0]
	}
	t.failUnless(p.form == character, wanted, "%v, want a pattern such as 'A%%'", wanted)
	s := p.text
	if p != wanted {
		s = foldCase(s)
	}
	not := ""
	if neg {
		not = "!"
	}
	first, last, plain, ok := simple(s)
	q := strconv.Quote(plain)
	switch {
	case ok && first && last:
		return t.cond(not, o.cel, ".contains(", q, ")")
	case ok && first:
		return t.cond(not, o.cel, ".endsWith(", q, ")")
	case ok && last:
		return t.cond(not, o.cel, ".startsWith(", q, ")")
	}
	return t.cond(not, o.cel, ".matches(", strconv.Quote(pattern(s)), ")")
}

// simple reports whether a pattern is a plain text with % before it, after it or both.
func simple(s string) (first, last bool, plain string, ok bool) {
	plain, first = strings.CutPrefix(s, "%")
	plain, last = strings.CutSuffix(plain, "%")
	return first, last, plain, (first || last) && !strings.ContainsAny(plain, `%_\`)
}

// pattern is a regular expression that matches the whole text.
func pattern(s string) string {
	var b strings.Builder
	b.WriteString(`(?s)^`)
	escaped := false
	for _, r := range s {
		switch {
		case escaped:
			b.WriteString(regexp.QuoteMeta(string(r)))
			escaped = false
		case r == '\\':
			escaped = true
		case r == '%':
			b.WriteString(".*")
		case r == '_':
			b.WriteByte('.')
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	b.WriteByte('$')
	return b.String()
}
