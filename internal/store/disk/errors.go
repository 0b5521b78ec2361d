package disk

import (
	"errors"
	"fmt"
	"strings"

	cerrors "github.com/cockroachdb/errors"
	"github.com/cockroachdb/pebble/v2"

	"github.com/catfish-index/catfish/internal/fault"
)

// Errors. All are wrapped, with the values and limits in question.
var (
	// ErrReadOnly: a write failed, the cause is wrapped, too. The entries of the
	// Commit that returns it are not in, now or later, so trying again is safe. It
	// succeeds once the database has recovered, which the database attempts regularly.
	ErrReadOnly = fault.ErrReadOnly
	// ErrClosed: Close was called. Nothing was done.
	ErrClosed = fault.ErrDiskClosed
	// ErrInDoubt: Close or GiveUp was called while a Commit waited for a failed
	// disk. When the data directory is opened again, the batch may be in it, whole, or
	// not at all, as after a crash: look before trying again.
	ErrInDoubt = errors.New("disk: closed before it was known whether the write is on disk")
	// ErrTrimmed: entries of the log that were asked for are no longer kept.
	ErrTrimmed = fault.ErrTrimmed
	// ErrAhead: a revision that was asked for is not of this history: it is above the
	// last one, or was given before a backup was restored.
	ErrAhead = fault.ErrAhead
	// ErrNoLog: Options.IDsOnly keeps none.
	ErrNoLog = errors.New("disk: no log is kept")
	// ErrFormat: the data directory was written by another version.
	ErrFormat = errors.New("disk: format of the data directory")
	// ErrForeign: a directory that is not empty, and not a data directory.
	ErrForeign = errors.New("disk: not a data directory")
	// ErrLocked: another process has the data directory open, or this one.
	ErrLocked = errors.New("disk: the data directory is in use")
	// ErrExists: Checkpoint and Restore write to directories that do not exist or
	// are empty.
	ErrExists = errors.New("disk: the directory is not empty")
	// ErrEntry: an entry that Commit does not take. Nothing was written.
	ErrEntry = errors.New("disk: bad entry")
	// ErrCorrupt: bytes on disk are not what was written.
	ErrCorrupt = errors.New("disk: corrupt")
	// ErrOptions: an option out of its range.
	ErrOptions = errors.New("disk: bad option")
)

// plain is an error as one line of text. Those of Pebble print a stack of calls in
// logs, which format errors with %+v, and some have several lines or parts of a damaged
// file.
type plain struct{ err error }

// plainBytes is longer than any clear error.
const plainBytes = 500

func (p plain) Error() string {
	text := strings.Join(strings.Fields(p.err.Error()), " ")
	if len(text) > plainBytes {
		text = text[:plainBytes] + "..."
	}
	return strings.ToValidUTF8(text, "?")
}

func (p plain) Unwrap() error { return p.err }

// corrupt returns as ErrCorrupt what Pebble reports by marks of its own. Pebble marks
// changed bytes, but no file that is shorter or missing.
func corrupt(err error) error {
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil && !errors.Is(err, ErrCorrupt) {
		return damaged(info)
	}
	if pebble.IsCorruptionError(err) && !errors.Is(err, ErrCorrupt) {
		if which := cerrors.FlattenDetails(err); which != "" { // file and offset
			return fmt.Errorf("%w: %w (%s)", ErrCorrupt, err, which)
		}
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

// damaged describes in a line the damage that Pebble has found.
func damaged(info *pebble.DataCorruptionInfo) error {
	return fmt.Errorf("%w: %s: %w", ErrCorrupt, info.Path, info.Details)
}
