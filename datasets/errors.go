package datasets

import (
	"errors"
	"fmt"
	"strings"

	"github.com/catfish-index/catfish/internal/places/input"
)

// Every error about a data set wraps one of these, rstar.ErrBadRect (a
// coordinate is NaN or infinite, or a minimum exceeds its maximum) or the
// operating system's error. Reading has no side effects, so a retry is always
// safe; for these errors it is useless until the input changes.
var (
	// ErrFormat: the format is unknown, or cannot be determined from the
	// file's name and content. The message lists what is allowed.
	ErrFormat = input.ErrFormat
	// ErrAmbiguous: the content fits several formats. Prefix the path
	// with the right one, as in rec:FILE. It wraps ErrFormat.
	ErrAmbiguous = fmt.Errorf("%w: ambiguous", ErrFormat)
	// ErrTruncated: the input ends in the middle of a record.
	ErrTruncated = input.ErrTruncated
	// ErrSyntax: a record breaks the rules of its format.
	ErrSyntax = input.ErrSyntax
	// ErrUnsupported: valid input that this package does not read.
	ErrUnsupported = input.ErrUnsupported
	// ErrOption: an option or a scale has a value that is not allowed.
	ErrOption = input.ErrOption
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
