package cql2

import (
	"regexp"
	"strings"

	"github.com/catfish-index/catfish/internal/feature/filter"
)

// like translates a pattern: % is any text, _ any character, and a backslash takes the
// next character literally. Patterns with % only at their ends need no regular
// expression.
func (t *translator) like(n *node) filter.Test {
	o := t.operand(n.args[0])
	t.failUnless(o.own || o.text, n.args[0], "%v, want a text or a property before LIKE", n.args[0])
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
	t.spend(n, testBytes+len(s))
	if first, last, plain, ok := simple(s); ok {
		return t.tree.Like(o.Operand, first, last, plain)
	}
	x, err := t.tree.Matches(o.Operand, pattern(s))
	if err != nil {
		t.fail(p, "%v", err)
	}
	return x
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
