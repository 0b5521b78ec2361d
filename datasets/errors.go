package datasets

import (
	"errors"
	"fmt"
	"strings"
)

// Every error about a data set wraps one of these, rstar.ErrBadRect (a
// coordinate is NaN or infinite, or a minimum exceeds its maximum) or the
// operating system's error. Reading has no side effects, so a retry is always
// safe; for these errors it is useless until the input changes.
var (
	// ErrFormat: the format is unknown, or cannot be determined from the
	// file's name and content. The message lists what is allowed.
	ErrFormat = errors.New("unknown format")
	// ErrAmbiguous: the content fits several formats. Prefix the path
	// with the right one, as in rec:FILE. It wraps ErrFormat.
	ErrAmbiguous = fmt.Errorf("%w: ambiguous", ErrFormat)
	// ErrTruncated: the input ends in the middle of a record.
	ErrTruncated = errors.New("truncated")
	// ErrSyntax: a record breaks the rules of its format.
	ErrSyntax = errors.New("malformed")
	// ErrUnsupported: valid input that this package does not read.
	ErrUnsupported = errors.New("not supported")
	// ErrOption: an option or a scale has a value that is not allowed.
	ErrOption = errors.New("bad option")
)

// ReadError says where in an input reading stopped. The items before that
// position have been delivered.
type ReadError struct {
	Name      string // path or name of the source
	Line      int64  // from 1; 0 when the format has no lines
	Offset    int64  // bytes from the start; -1 when Line is used
	Delivered int64  // items delivered before the error
	Err       error
}

func (e *ReadError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "datasets: %s", e.Name)
	switch {
	case e.Line > 0:
		fmt.Fprintf(&b, ": line %d", e.Line)
	case e.Offset >= 0:
		fmt.Fprintf(&b, ": offset %d", e.Offset)
	}
	fmt.Fprintf(&b, ": %v (%d items before it were delivered)", e.Err, e.Delivered)
	return b.String()
}

func (e *ReadError) Unwrap() error { return e.Err }

// errStop ends a pass whose consumer needs no more. Items returns nil.
var errStop = errors.New("datasets: stop")

// quote shortens hostile text for an error message.
func quote(s string) string {
	const limit = 40 // enough to find the place, short enough for a line
	if len(s) > limit {
		return fmt.Sprintf("%q...", s[:limit])
	}
	return fmt.Sprintf("%q", s)
}
