package web

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/catfish-index/catfish/internal/store"
)

// params are the parameters of a query. Handlers take those that they know, and refuse
// the rest: a misspelt name must not widen an answer.
type params struct {
	all   []param
	taken []bool
	later bool // a filter may name properties that no feature has so far
	// described is the schema of the collection, once it was needed.
	described *store.Description
}

type param struct{ name, value string }

// maxParams bounds the parameters of a query.
const maxParams = 100

// parseParams keeps the order, because links repeat the parameters.
func parseParams(query string) (p params, err error) {
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		if name, err = url.QueryUnescape(name); err == nil {
			value, err = url.QueryUnescape(value)
		}
		switch {
		case err != nil:
			return p, &paramError{name: clip(part, maxValue), err: err}
		case !utf8.ValidString(name) || !utf8.ValidString(value):
			return p, &paramError{name: strings.ToValidUTF8(name, "\uFFFD"), err: errNotUTF8, want: "UTF-8"}
		case slices.ContainsFunc(p.all, func(o param) bool { return o.name == name }):
			return p, &paramError{name: name, err: errTwice, want: "it once"}
		case len(p.all) == maxParams:
			return p, &paramError{name: name, err: errTooMany, want: fmt.Sprintf("at most %d parameters", maxParams)}
		}
		p.all = append(p.all, param{name, value})
	}
	p.taken = make([]bool, len(p.all))
	return p, nil
}

// take removes a parameter and returns its value, if present.
func (p *params) take(name string) (value string, ok bool) {
	for i, a := range p.all {
		if a.name == name {
			p.taken[i] = true
			return a.value, true
		}
	}
	return "", false
}

// left are the parameters that no handler took.
func (p *params) left() (all []param) {
	for i, a := range p.all {
		if !p.taken[i] {
			all = append(all, a)
		}
	}
	return all
}

// end refuses the parameters that no handler took.
func (p *params) end(known string) error {
	for _, a := range p.left() {
		return &paramError{name: a.name, value: a.value, err: errUnknown, want: known}
	}
	return nil
}

// limit is parameter limit: the number of features of a page.
func (p *params) limit() (int, error) {
	text, ok := p.take("limit")
	if !ok {
		return DefaultLimit, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n == 0 {
		return 0, &paramError{name: "limit", value: text, want: fmt.Sprintf("a number from 1 to %d", MaxLimit)}
	}
	return int(min(n, MaxLimit)), nil // A larger limit is no error, by the standard.
}

// query is the parameters with some replaced; an empty value drops a parameter.
func (p *params) query(with ...param) string {
	b := make([]byte, 0, 256)
	add := func(a param) {
		if len(b) > 0 {
			b = append(b, '&')
		}
		b = append(appendEscaped(b, a.name), '=')
		b = appendEscaped(b, a.value)
	}
	for _, a := range p.all {
		if !slices.ContainsFunc(with, func(o param) bool { return o.name == a.name }) {
			add(a)
		}
	}
	for _, a := range with {
		if a.value != "" {
			add(a)
		}
	}
	return string(b)
}

// appendEscaped appends url.QueryEscape of s.
func appendEscaped(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9', c == '-', c == '_', c == '.', c == '~':
			b = append(b, c)
		case c == ' ':
			b = append(b, '+')
		default:
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return b
}
