// Package names has the one rule for names of collections, whatever they hold.
// All code that creates collections or names them in roles uses it.
//
// The rule is for new names. A collection that an earlier version created, or that is
// in another program's directory, keeps its name, which finds, swaps and drops it.
package names

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxBytes is the longest name. Names travel in error details of gRPC, which share
// HTTP/2's usual 8 KiB of headers.
const MaxBytes = 128

// ErrName is the error that Check and CheckPattern wrap.
var ErrName = errors.New("bad collection name")

// Check is ErrName if no collection may be created with the name. A name is text,
// because protobuf and JSON carry nothing else. It is one segment of a path of HTTP,
// of which "." and ".." are none, and one word of a line of logs and of listings.
func Check(name string) error {
	if err := CheckLength(name); err != nil {
		return err
	}
	switch {
	case !utf8.ValidString(name):
		return fmt.Errorf("%w: %q, want valid UTF-8", ErrName, name)
	case name == "." || name == "..":
		return fmt.Errorf("%w: %q is a step in a path", ErrName, name)
	case strings.ContainsFunc(name, func(r rune) bool { return r == '/' || unicode.IsSpace(r) || unicode.IsControl(r) }):
		return fmt.Errorf("%w: %q, want no spaces, slashes and control characters", ErrName, name)
	}
	return nil
}

// CheckLength is ErrName for a name of no collection at all: it is empty or longer
// than MaxBytes. It is for the names of collections that may exist already.
func CheckLength(name string) error {
	if n := len(name); n == 0 || n > MaxBytes {
		return fmt.Errorf("%w: %.*q has %d bytes, want 1 to %d", ErrName, MaxBytes, name, n, MaxBytes)
	}
	return nil
}

// CheckPattern is ErrName if no name that may be created matches the pattern: a name,
// or the beginning of names and *.
func CheckPattern(pattern string) error {
	start, any := strings.CutSuffix(pattern, "*")
	if any && (start == "" || start == "." || start == "..") {
		return nil
	}
	return Check(start)
}

// Text is the name as valid UTF-8: one that is not is quoted. No such collection can
// be created, but a listing with one must not fail for all others.
func Text(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return strconv.Quote(name)
}
