package places

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/catfish-index/catfish/internal/places/input"
)

// recordSeparator begins each text of RFC 8142. It cannot occur within JSON:
// control characters in strings must be escaped.
const recordSeparator = 0x1e

// scanner cuts JSON values, lines and separated texts out of a stream. It only
// looks at brackets and strings: the decoder of a value checks whether it is
// JSON, so that a bad feature does not end the file.
type scanner struct {
	r      *bufio.Reader
	offset int64 // of the next byte
	line   int64 // its line, from 1
	buf    []byte
	most   int // bytes of one value or text
}

func newScanner(r *bufio.Reader) *scanner {
	s := &scanner{r: r, line: 1, most: maxRecordBytes}
	if head, _ := r.Peek(3); string(head) == input.ByteOrderMark {
		_, _ = r.Discard(3)
		s.offset = 3
	}
	return s
}

func (s *scanner) readByte() (byte, error) {
	c, err := s.r.ReadByte()
	if err == nil {
		s.offset++
		if c == '\n' {
			s.line++
		}
	}
	return c, err
}

func (s *scanner) unreadByte(c byte) {
	_ = s.r.UnreadByte() // follows a ReadByte, so it cannot fail
	s.offset--
	if c == '\n' {
		s.line--
	}
}

const space = " \t\r\n"

// skip passes white space and separators, and returns the next byte without
// consuming it.
func (s *scanner) skip() (byte, error) { return s.skipAny(space + string(rune(recordSeparator))) }

func (s *scanner) skipAny(these string) (byte, error) {
	for {
		c, err := s.readByte()
		if err != nil {
			return 0, err
		}
		if strings.IndexByte(these, c) < 0 {
			s.unreadByte(c)
			return c, nil
		}
	}
}

// expect consumes one byte, which must be one of wanted.
func (s *scanner) expect(wanted string) (byte, error) {
	if _, err := s.skip(); err != nil {
		return 0, truncated(err)
	}
	c, err := s.readByte()
	if err != nil {
		return 0, err
	}
	for i := range len(wanted) {
		if c == wanted[i] {
			return c, nil
		}
	}
	return 0, fmt.Errorf("%w: %q where one of %q should be", input.ErrSyntax, c, wanted)
}

// value returns the next value, valid until the next call of the scanner: all
// bytes up to the bracket that closes it, the end of a string, or the byte after a
// number or a name.
func (s *scanner) value() ([]byte, error) {
	first, err := s.skip()
	if err != nil {
		return nil, truncated(err)
	}
	s.buf = s.buf[:0]
	depth, inString, escaped := 0, false, false
	scalar := first != '{' && first != '[' && first != '"'
	for {
		c, err := s.readByte()
		if err == io.EOF && scalar && len(s.buf) > 0 {
			return s.buf, nil
		}
		if err != nil {
			return nil, truncated(err)
		}
		if scalar {
			switch c {
			case ',', ']', '}', ':', ' ', '\t', '\r', '\n', recordSeparator:
				s.unreadByte(c)
				return s.buf, nil
			}
		}
		if s.buf, err = s.bounded(s.buf, c); err != nil {
			return nil, err
		}
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if !scalar && depth <= 0 && !inString {
			return s.buf, nil
		}
	}
}

// until returns the bytes before the byte end, or before the end of the input,
// valid until the next call of the scanner. It skips the bytes beyond the limit.
func (s *scanner) until(end byte) ([]byte, error) {
	s.buf = s.buf[:0]
	var tooLong error
	any := false
	for {
		c, err := s.readByte()
		if err == io.EOF && any {
			return s.buf, tooLong
		}
		if err != nil {
			return nil, err
		}
		any = true
		if c == end {
			return s.buf, tooLong
		}
		if tooLong == nil {
			s.buf, tooLong = s.bounded(s.buf, c)
		}
	}
}

func (s *scanner) bounded(buf []byte, c byte) ([]byte, error) {
	if len(buf) == s.most {
		return buf, s.tooLarge()
	}
	return append(buf, c), nil
}

func (s *scanner) tooLarge() error {
	return fmt.Errorf("%w: a record of more than %d bytes", input.ErrTooLarge, s.most)
}

// truncated converts the end of the input within a text into an error.
func truncated(err error) error {
	if err == io.EOF {
		return fmt.Errorf("%w: the JSON text ends too early", input.ErrTruncated)
	}
	return err
}
