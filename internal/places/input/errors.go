// Package input has what datasets and internal/places read alike: the kinds
// of errors, limits of memory, and the objects of an OpenStreetMap PBF file.
package input

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of errors. Package datasets exports and explains them.
var (
	ErrFormat      = errors.New("unknown format")
	ErrTruncated   = errors.New("truncated")
	ErrSyntax      = errors.New("malformed")
	ErrUnsupported = errors.New("not supported")
	ErrOption      = errors.New("bad option")
	ErrTooLarge    = errors.New("too large")
)

// Quote shortens untrusted text for an error message.
func Quote[T ~string | ~[]byte](text T) string {
	return QuoteUpTo(text, 40) // enough to find the record, short enough for a line
}

// QuoteUpTo is Quote with another limit in bytes.
func QuoteUpTo[T ~string | ~[]byte](text T, limit int) string {
	s := strings.ToValidUTF8(string(text[:min(len(text), limit)]), "?")
	if len(text) > limit {
		return fmt.Sprintf("%q...", s)
	}
	return fmt.Sprintf("%q", s)
}
