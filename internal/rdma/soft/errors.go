package soft

import (
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/rdma"
)

// ErrOptions: Open got Options that cannot work. Nothing was opened.
var ErrOptions = errors.New("soft: bad options")

// ErrProtocol: the peer sent bytes that no correct peer of this version sends.
// It ends the connection; outstanding requests have an unknown effect.
var ErrProtocol = errors.New("soft: protocol violation")

// ErrStalled: the peer read too slowly, or not at all. It ends the
// connection; outstanding requests have an unknown effect.
var ErrStalled = errors.New("soft: peer does not take what is sent to it")

// VersionError: the two sides speak different protocol versions. It wraps
// rdma.ErrDial: nothing was sent, and dialing again helps only after one side
// has been upgraded.
type VersionError struct {
	Peer         string
	Ours, Theirs uint16
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("soft: %s speaks protocol version %d, this side %d: "+
		"upgrade the older one", e.Peer, e.Theirs, e.Ours)
}

// Unwrap lets errors.Is find rdma.ErrDial.
func (e *VersionError) Unwrap() error { return rdma.ErrDial }

func violation(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrProtocol}, args...)...)
}
