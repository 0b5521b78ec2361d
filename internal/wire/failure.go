package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/status"
)

// failureHead is code u16 and the number of items done before it u64.
const failureHead = 10

// AppendFailure appends a failure, and how many items were done before it.
func AppendFailure(b []byte, err error, done uint64) []byte {
	b = binary.LittleEndian.AppendUint16(b, status.Wire(err))
	b = binary.LittleEndian.AppendUint64(b, done)
	return append(b, err.Error()...)
}

// RemoteError is a server's failure at the client: the server's text, and
// the sentinel that its code stands for.
type RemoteError struct {
	sentinel error
	text     string
	Done     uint64
}

func (e *RemoteError) Error() string {
	// The same errors as in this process.
	for _, is := range []error{model.ErrNotFound, model.ErrExists, model.ErrConflict} {
		if errors.Is(e.sentinel, is) {
			return e.text
		}
	}
	return "server: " + e.text
}

func (e *RemoteError) Unwrap() error { return e.sentinel }

// GetFailure returns the error of a failure, a *RemoteError.
func GetFailure(b []byte) error {
	if len(b) < failureHead {
		return fmt.Errorf("%w: failure of %d bytes, want at least %d", model.ErrProtocol, len(b), failureHead)
	}
	return &RemoteError{
		sentinel: status.OfWire(binary.LittleEndian.Uint16(b)),
		Done:     binary.LittleEndian.Uint64(b[2:]),
		text:     string(b[failureHead:]),
	}
}

// PartlyDone is the error of a call of several parts, the first of which were carried
// out.
type PartlyDone struct {
	Done int // objects
	Err  error
}

func (e *PartlyDone) Error() string { return fmt.Sprintf("after %d objects: %v", e.Done, e.Err) }

func (e *PartlyDone) Unwrap() error { return e.Err }
