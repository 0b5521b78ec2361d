package cql2

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is an error at a place in a filter.
type Error struct {
	// Column in a text, or in malformed JSON, in characters, from 1. 0: the place is
	// Pointer.
	Column int
	// Pointer to a value in JSON (RFC 6901). Empty: the whole document.
	Pointer string
	Message string
}

func (e *Error) Error() string {
	switch {
	case e.Column > 0:
		return fmt.Sprintf("column %d: %s", e.Column, e.Message)
	case e.Pointer != "":
		return e.Pointer + ": " + e.Message
	}
	return e.Message
}

type kind uint8

const (
	end     kind = iota
	name         // identifier or keyword
	quoted       // "identifier"
	text         // 'text'
	number       // 1.5
	symbol       // ( ) , = <> < > <= >= + - * /
	invalid      // not a token
)

type token struct {
	kind kind
	text string // the value, without quotes and escapes
	at   int    // byte offset
}

// is reports whether the token is a keyword or symbol.
func (t token) is(word string) bool {
	return (t.kind == name || t.kind == symbol) && strings.EqualFold(t.text, word)
}

func (t token) String() string {
	switch t.kind {
	case end:
		return "the end"
	case text:
		return fmt.Sprintf("'%.40s'", t.text)
	}
	return fmt.Sprintf("%.40q", t.text)
}

// lexer cuts a text into tokens.
type lexer struct {
	s  string
	at int
}

func isLetter(r rune) bool {
	return r == '_' || r == ':' || unicode.IsLetter(r)
}

func (l *lexer) next() token {
	l.at += len(l.s[l.at:]) - len(strings.TrimLeft(l.s[l.at:], " \t\r\n"))
	t := token{at: l.at}
	if l.at == len(l.s) {
		return t
	}
	rest := l.s[l.at:]
	r, size := utf8.DecodeRuneInString(rest)
	n := size // size of the token in bytes
	switch {
	case r == '\'':
		return l.quoted(text, '\'')
	case r == '"':
		return l.quoted(quoted, '"')
	case isLetter(r):
		t.kind = name
		n = len(rest) - len(strings.TrimLeftFunc(rest, func(r rune) bool { return isLetter(r) || unicode.IsDigit(r) || r == '.' }))
	case r >= '0' && r <= '9' || r == '.':
		t.kind, n = number, numberBytes(rest)
	case strings.HasPrefix(rest, "<>"), strings.HasPrefix(rest, "<="), strings.HasPrefix(rest, ">="):
		t.kind, n = symbol, 2
	case strings.ContainsRune("(),=<>+-*/", r):
		t.kind = symbol
	default:
		t.kind = invalid
	}
	t.text = rest[:n]
	l.at += n
	return t
}

// numberBytes is the length of the number at the beginning of a text.
func numberBytes(s string) (n int) {
	digits := func() {
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
	}
	digits()
	if n < len(s) && s[n] == '.' {
		n++
		digits()
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		n++
		if n < len(s) && (s[n] == '+' || s[n] == '-') {
			n++
		}
		digits()
	}
	return n
}

// escapes of texts: the meaning of a backslash and a letter. A backslash before a quote
// or a backslash stands for the second character. Any other pair stays as it is, so
// that LIKE sees \% and \_.
var escapes = map[byte]byte{
	'a': '\a', 'b': '\b', 't': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'r': '\r', '\'': '\'', '\\': '\\',
}

// quoted reads a text or name in quotes; a doubled quote in it is one quote.
func (l *lexer) quoted(k kind, quote byte) token {
	t := token{kind: k, at: l.at}
	var b strings.Builder
	for i := l.at + 1; i < len(l.s); i++ {
		c, next := l.s[i], byte(0)
		if i+1 < len(l.s) {
			next = l.s[i+1]
		}
		switch {
		case c == quote && next == quote:
			b.WriteByte(quote)
			i++
		case c == quote:
			t.text, l.at = b.String(), i+1
			return t
		case c == '\\' && k == text && escapes[next] != 0:
			b.WriteByte(escapes[next])
			i++
		default:
			b.WriteByte(c)
		}
	}
	t.kind, t.text, l.at = invalid, l.s[l.at:], len(l.s) // The closing quote is missing.
	return t
}
