package places

import "fmt"

// RecordError says which record of an input is bad, and why. Err wraps one of
// package datasets' errors: ErrSyntax, ErrTruncated, ErrTooLarge or
// ErrUnsupported.
type RecordError struct {
	Name   string // path or name of the input
	Line   int64  // where the record begins, from 1; 0 if there are no lines
	Offset int64  // the same in bytes of the uncompressed input, from 0
	Err    error
}

func (e *RecordError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("places: %s: line %d: %v", e.Name, e.Line, e.Err)
	}
	return fmt.Sprintf("places: %s: offset %d: %v", e.Name, e.Offset, e.Err)
}

func (e *RecordError) Unwrap() error { return e.Err }

// badRecord is the error of one record, after which its source can continue. All
// other errors of a source are final.
type badRecord struct{ *RecordError }

func (b badRecord) Unwrap() error { return b.RecordError }

func badAt(line, offset int64, err error) error {
	return badRecord{&RecordError{Line: line, Offset: offset, Err: err}}
}

func finalAt(line, offset int64, err error) error {
	return &RecordError{Line: line, Offset: offset, Err: err}
}
