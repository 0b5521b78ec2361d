package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Cutting a document: a FeatureCollection, whose features are cut one by one, or a
// Feature. Positions are counted from splitter.at.

// byteAt is byte i of the bytes that are not cut so far.
func (s *splitter) byteAt(i int) (byte, error) {
	for s.at+i >= len(s.buf) {
		if err := s.more(); err != nil {
			if errors.Is(err, io.EOF) {
				err = &statusError{http.StatusBadRequest, "the body ends before its JSON does"}
			}
			return 0, err
		}
	}
	return s.buf[s.at+i], nil
}

func (s *splitter) bad(i int, want string) error {
	return &statusError{http.StatusBadRequest, fmt.Sprintf("the body: byte %d: %q, want %s", s.off+int64(s.at+i), s.buf[s.at+i], want)}
}

// space skips white space from i on, and returns the next byte and its position.
func (s *splitter) space(i int) (int, byte, error) {
	for ; ; i++ {
		c, err := s.byteAt(i)
		if err != nil || c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return i, c, err
		}
		if i == fullRead && s.n > 0 { // Keep the document's beginning.
			s.at, i = s.at+i, 0
		}
	}
}

// value is the end of the value that begins at i. With drop, the bytes passed are
// dropped, so the end is counted from the new beginning.
func (s *splitter) value(i int, drop bool) (end int, err error) {
	depth, text := 0, false
	for begin := true; ; begin = false {
		if drop && i > fullRead && s.at+i <= len(s.buf) {
			s.at, i = s.at+i, 0
		}
		c, err := s.byteAt(i)
		if err != nil {
			return 0, err
		}
		switch {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']', c == ',' && depth == 0:
			if depth == 0 {
				if begin {
					return 0, s.bad(i, "a value")
				}
				return i, nil // the end of a number or name
			}
			depth--
		}
		i++
		if depth == 0 && !text && (c == '"' || c == '}' || c == ']') {
			return i, nil
		}
	}
}

// member skips the name of a member and its colon, and returns where its value begins.
func (s *splitter) member(i int) (name string, at int, err error) {
	i, c, err := s.space(i)
	if err != nil {
		return "", 0, err
	}
	if c != '"' {
		return "", 0, s.bad(i, "the name of a member")
	}
	end, err := s.value(i, false)
	if err != nil {
		return "", 0, err
	}
	// A name with escapes is none of the names that matter here.
	name = string(s.buf[s.at+i+1 : s.at+end-1])
	if i, c, err = s.space(end); err != nil {
		return "", 0, err
	}
	if c != ':' {
		return "", 0, s.bad(i, "a colon")
	}
	at, _, err = s.space(i + 1)
	return name, at, err
}

// begin reads a document up to the array of its features. If it has none, the whole
// document is left to be cut.
func (s *splitter) begin() (collection bool, err error) {
	i, c, err := s.space(0)
	if err != nil || c != '{' {
		return false, s.mayEnd(err)
	}
	for more := false; ; more = true {
		if i, c, err = s.space(i + 1); err != nil || c == '}' {
			return false, s.mayEnd(err)
		}
		if more {
			if c != ',' {
				return false, nil // Package feature reports the error in more detail.
			}
			i++
		}
		name, at, err := s.member(i)
		if err != nil {
			return false, s.mayEnd(err)
		}
		if name == "features" && s.buf[s.at+at] == '[' && (s.collection == "" || s.collection == "FeatureCollection") {
			s.at += at + 1
			return true, nil
		}
		end, err := s.value(at, false)
		if err != nil {
			return false, s.mayEnd(err)
		}
		if err := s.judge(name, s.buf[s.at+at:s.at+end]); err != nil {
			return false, err
		}
		i = end - 1
	}
}

// mayEnd leaves errors of a complete document to package feature, which reports them in
// more detail.
func (s *splitter) mayEnd(err error) error {
	var own *statusError
	if errors.As(err, &own) && own.status == http.StatusBadRequest {
		return nil
	}
	return err
}

// judge examines a member of the document.
func (s *splitter) judge(name string, value []byte) error {
	switch name {
	case "type":
		_ = json.Unmarshal(value, &s.collection) // A type that is not a text is unknown.
	case "crs":
		return checkCRS(value)
	}
	return nil
}

// checkCRS returns an error if coordinates are not WGS 84 longitudes and latitudes.
// GeoJSON had this member before RFC 7946, and programs still write it.
func checkCRS(value []byte) error {
	var crs struct{ Properties struct{ Name string } }
	if string(value) == "null" {
		return nil
	}
	if err := json.Unmarshal(value, &crs); err == nil {
		for _, known := range []string{"CRS84", "EPSG::4326", "EPSG:4326", "EPSG/0/4326"} {
			if strings.HasSuffix(strings.ToUpper(crs.Properties.Name), known) {
				return nil
			}
		}
	}
	return &statusError{http.StatusBadRequest, fmt.Sprintf(
		"the body: crs is %.100s, want none, or WGS 84 longitude and latitude: ogr2ogr -t_srs EPSG:4326 converts a file", value)}
}

// whole returns the rest of the document.
func (s *splitter) whole() ([]byte, error) {
	for {
		if err := s.more(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	if len(s.buf)-s.at > s.most {
		return nil, &http.MaxBytesError{Limit: int64(s.most)}
	}
	return s.buf[s.at:], nil
}

// element is the text of the next feature of the array. io.EOF: there are no more, and
// the document has ended correctly.
func (s *splitter) element() ([]byte, error) {
	i, c, err := s.space(0)
	switch {
	case err != nil:
		return nil, err
	case c == ']':
		s.at += i + 1
		return nil, s.end()
	case s.n > 0 && c != ',':
		return nil, s.bad(i, "a comma or the end of features")
	case s.n > 0:
		if i, _, err = s.space(i + 1); err != nil {
			return nil, err
		}
	}
	end, err := s.value(i, false)
	if err != nil {
		return nil, err
	}
	text := s.buf[s.at+i : s.at+end]
	if len(text) > s.most {
		return nil, &http.MaxBytesError{Limit: int64(s.most)}
	}
	s.at += end
	s.n++
	return text, nil
}

// end reads what follows the array of features.
func (s *splitter) end() error {
	for {
		i, c, err := s.space(0)
		switch {
		case err != nil:
			return err
		case c == '}':
			s.at += i + 1
			return s.nothing()
		case c != ',':
			return s.bad(i, "a comma or the end of the FeatureCollection")
		}
		name, at, err := s.member(i + 1)
		if err != nil {
			return err
		}
		s.at += at
		judged := name == "type" || name == "crs"
		end, err := s.value(0, !judged)
		if err == nil && judged {
			err = s.judge(name, s.buf[s.at:s.at+end])
		}
		if err != nil {
			return err
		}
		s.at += end
	}
}

// nothing returns io.EOF if nothing follows, and the document had the right type.
func (s *splitter) nothing() error {
	for {
		for ; s.at < len(s.buf); s.at++ {
			if !strings.ContainsRune(" \t\r\n", rune(s.buf[s.at])) {
				return s.bad(0, "the end of the body")
			}
		}
		if err := s.more(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
	}
	if s.collection != "FeatureCollection" {
		return &statusError{http.StatusBadRequest, fmt.Sprintf(`the body: type is %.40q, want "FeatureCollection"`, s.collection)}
	}
	return io.EOF
}
