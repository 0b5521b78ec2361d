package feature

import (
	"encoding/json"
	"fmt"
)

// CompactProperties checks that text is one JSON object, or null, and returns
// it without white space; nil for null and for an empty text. Without white
// space in it the result is text itself, else a copy.
func CompactProperties(text []byte) ([]byte, error) {
	if len(text) == 0 {
		return nil, nil
	}
	s := scanner{b: text, depth: maxJSONDepth}
	p, err := s.properties()
	if err != nil {
		return nil, err
	}
	if s.peek(); s.i < len(text) {
		return nil, s.fail("%s after the properties", s.found())
	}
	return p, nil
}

// properties takes an object or null.
func (s *scanner) properties() ([]byte, error) {
	c := s.peek()
	if c != '{' && c != 'n' {
		return nil, s.fail("%s, want an object or null for properties", s.found())
	}
	before := s.spaces
	s.spaces = false
	p, err := s.value()
	if err != nil {
		return nil, fmt.Errorf("properties: %w", err)
	}
	if c == 'n' {
		p = nil
	} else if s.spaces {
		p = compact(p)
	}
	s.spaces = s.spaces || before
	return p, nil
}

// compact copies valid JSON without the white space between its tokens.
func compact(text []byte) []byte {
	out := make([]byte, 0, len(text))
	inString := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case inString && c == '\\':
			out = append(out, c)
			i++
			c = text[i]
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		}
		out = append(out, c)
	}
	return out
}

// sameString reports whether quoted, a JSON string, is s.
func sameString(quoted []byte, s string) bool {
	if len(quoted) == len(s)+2 && string(quoted[1:len(quoted)-1]) == s {
		return true
	}
	for _, c := range quoted {
		if c == '\\' {
			return unquote(quoted) == s
		}
	}
	return false
}

// unquote decodes a string that the scanner has accepted. Half of a surrogate
// pair becomes U+FFFD.
func unquote(quoted []byte) string {
	for _, c := range quoted {
		if c == '\\' {
			var s string
			if json.Unmarshal(quoted, &s) != nil {
				return "" // Impossible: it was scanned.
			}
			return s
		}
	}
	return string(quoted[1 : len(quoted)-1])
}
