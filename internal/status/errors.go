package status

import "errors"

// Errors of client and server that no lower package has. Package catfish
// exports and describes them.
var (
	ErrProtocol     = errors.New("catfish: protocol error")
	ErrServer       = errors.New("catfish: server error")
	ErrBusy         = errors.New("catfish: server is busy")
	ErrTooLarge     = errors.New("catfish: answer too large")
	ErrNotReady     = errors.New("catfish: collection is not ready")
	ErrNotPermitted = errors.New("catfish: not permitted")
	ErrKind         = errors.New("catfish: collection of another kind")
)
