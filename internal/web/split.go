package web

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// Cutting a stream into features
//
// A stream of any length is cut into the texts of its features, of which one is in
// memory at a time. Package feature checks each; the splitter only tracks strings and
// brackets. The part before the array of a FeatureCollection stays in memory until the
// array begins: it may turn out to be a Feature, which is one text.

const (
	// firstRead is the size of the first read, and fullRead of later ones, if more had
	// arrived: some hundred points. While they are stored, as much arrives in the
	// socket's buffer.
	firstRead, fullRead = 4 << 10, 64 << 10

	recordSeparator = 0x1e // RFC 8142
)

// splitter has a part of a stream: buf[at:] is not cut so far.
type splitter struct {
	from io.Reader
	most int               // the longest text, in bytes
	hold func(n int) error // reserves memory for buf
	buf  []byte
	at   int
	off  int64 // offset of buf[0] in the stream

	collection string // type of the document, once read
	n          int    // elements of its array so far
}

// more reads more of the stream. io.EOF: the stream has ended.
func (s *splitter) more() error {
	if len(s.buf)-s.at > s.most {
		return &http.MaxBytesError{Limit: int64(s.most)}
	}
	full := len(s.buf) == cap(s.buf)
	rest := s.buf[s.at:]
	size := max(cap(s.buf), firstRead)
	switch {
	case len(rest) == 0 && size > fullRead:
		size = fullRead // The long text has ended.
	case len(rest) > size/2, full && size < fullRead:
		size *= 2
	}
	s.off += int64(s.at)
	if size == cap(s.buf) {
		s.buf = s.buf[:copy(s.buf, rest)]
	} else {
		if err := s.hold(size); err != nil {
			return err
		}
		s.buf = append(make([]byte, 0, size), rest...)
	}
	s.at = 0
	for {
		n, err := s.from.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		switch {
		case n > 0:
			return nil // The error comes again.
		case err != nil:
			return err
		}
	}
}

// upTo is the text before the next separator. errTooLong: the text was skipped.
func (s *splitter) upTo(separator byte) ([]byte, error) {
	long := false
	for seen := 0; ; {
		rest := s.buf[s.at:]
		if i := bytes.IndexByte(rest[seen:], separator); i >= 0 {
			s.at += seen + i + 1
			if long || seen+i > s.most {
				return nil, errTooLongText
			}
			return rest[:seen+i], nil
		}
		if seen = len(rest); seen > s.most {
			long = true
		}
		if long {
			s.at, seen = len(s.buf), 0
		}
		err := s.more()
		switch {
		case err == nil:
		case !errors.Is(err, io.EOF):
			return nil, err
		case long:
			return nil, errTooLongText
		case seen == 0:
			return nil, io.EOF
		default:
			rest, s.at = s.buf[s.at:], len(s.buf)
			return rest, nil
		}
	}
}

var errTooLongText = errors.New("it is too long")
