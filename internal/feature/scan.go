package feature

import (
	"fmt"
	"unicode/utf8"
)

// scanner reads JSON (RFC 8259) from a text in memory, strictly, without
// building anything. encoding/json would need two passes and several
// allocations for a feature, and its errors do not name the place.
type scanner struct {
	b      []byte
	i      int
	depth  int  // how many more levels may open
	spaces bool // white space was seen
}

// maxJSONDepth bounds the recursion; properties of real data nest below 10.
const maxJSONDepth = 64

func (s *scanner) fail(format string, args ...any) error {
	return fmt.Errorf("%w: byte %d: %s", ErrSyntax, s.i, fmt.Sprintf(format, args...))
}

// found describes what is at the current position.
func (s *scanner) found() string {
	if s.i >= len(s.b) {
		return "the end of the text"
	}
	r, _ := utf8.DecodeRune(s.b[s.i:])
	return fmt.Sprintf("%q", r)
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\n', '\r':
			s.spaces = true
			s.i++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) expect(c byte, what string) error {
	if s.peek() != c {
		return s.fail("%s, want %s", s.found(), what)
	}
	s.i++
	return nil
}

// open enters an array or object.
func (s *scanner) open(c byte, what string) error {
	if err := s.expect(c, what); err != nil {
		return err
	}
	if s.depth == 0 {
		return fmt.Errorf("%w: byte %d: JSON nests deeper than %d",
			ErrTooLarge, s.i, maxJSONDepth)
	}
	s.depth--
	return nil
}

// more reports whether there is a next element, the n-th from 0. Otherwise it
// takes the closing bracket.
func (s *scanner) more(n int, end byte) (bool, error) {
	switch c := s.peek(); {
	case c == end:
		s.i++
		s.depth++
		return false, nil
	case n == 0:
		return true, nil
	case c != ',':
		return false, s.fail("%s, want ',' or '%c'", s.found(), end)
	}
	s.i++
	return true, nil
}

// key takes a member's name, quotes included, and its colon.
func (s *scanner) key() ([]byte, error) {
	name, err := s.text()
	if err == nil {
		err = s.expect(':', "':' after a name")
	}
	return name, err
}

// value takes any value and returns its text.
func (s *scanner) value() ([]byte, error) {
	c := s.peek()
	start := s.i
	var err error
	switch {
	case c == '"':
		_, err = s.text()
	case c == '{' || c == '[':
		err = s.nested(c)
	case c == '-' || c >= '0' && c <= '9':
		_, err = s.number()
	case c == 't':
		err = s.literal("true")
	case c == 'f':
		err = s.literal("false")
	case c == 'n':
		err = s.literal("null")
	default:
		err = s.fail("%s, want a value", s.found())
	}
	if err != nil {
		return nil, err
	}
	return s.b[start:s.i], nil
}

func (s *scanner) nested(c byte) error {
	end := c + 2 // '[' and ']', '{' and '}' are two apart.
	if err := s.open(c, "a value"); err != nil {
		return err
	}
	for n := 0; ; n++ {
		more, err := s.more(n, end)
		if err != nil || !more {
			return err
		}
		if c == '{' {
			if _, err := s.key(); err != nil {
				return err
			}
		}
		if _, err := s.value(); err != nil {
			return err
		}
	}
}

func (s *scanner) literal(word string) error {
	if len(s.b)-s.i < len(word) || string(s.b[s.i:s.i+len(word)]) != word {
		return s.fail("%s, want %s", s.found(), word)
	}
	s.i += len(word)
	return nil
}

// number takes a number and returns its text.
func (s *scanner) number() ([]byte, error) {
	start := s.i
	if s.i < len(s.b) && s.b[s.i] == '-' {
		s.i++
	}
	if s.i < len(s.b) && s.b[s.i] == '0' {
		s.i++
	} else if !s.digits() {
		return nil, s.fail("%s, want a number", s.found())
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if !s.digits() {
			return nil, s.fail("%s, want a digit", s.found())
		}
	}
	if s.i < len(s.b) && s.b[s.i]|0x20 == 'e' {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		if !s.digits() {
			return nil, s.fail("%s, want a digit", s.found())
		}
	}
	return s.b[start:s.i], nil
}

func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.b) && s.b[s.i]-'0' <= 9 {
		s.i++
	}
	return s.i > start
}

// text takes a string and returns it as written, quotes included.
func (s *scanner) text() ([]byte, error) {
	if err := s.expect('"', "a string"); err != nil {
		return nil, err
	}
	start, ascii := s.i-1, true
	for s.i < len(s.b) {
		c := s.b[s.i]
		switch {
		case c == '"':
			s.i++
			if !ascii && !utf8.Valid(s.b[start:s.i]) {
				s.i = start
				return nil, s.fail("a string is not UTF-8")
			}
			return s.b[start:s.i], nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return nil, err
			}
			continue
		case c < ' ':
			return nil, s.fail("control character %#x in a string", c)
		case c >= utf8.RuneSelf:
			ascii = false
		}
		s.i++
	}
	return nil, s.fail("a string does not end")
}

func (s *scanner) escape() error {
	rest := s.b[s.i+1:]
	if len(rest) > 0 {
		switch rest[0] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			s.i += 2
			return nil
		case 'u':
			n := 1
			for n < 5 && n < len(rest) && isHex(rest[n]) {
				n++
			}
			if n == 5 {
				s.i += 6
				return nil
			}
		}
	}
	return s.fail("invalid escape in a string")
}

func isHex(c byte) bool {
	return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'f'
}
