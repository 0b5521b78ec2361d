package shm

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
)

// Options configure a device. The zero value works.
type Options struct {
	// SocketMode is the file mode of a Listener's socket and determines
	// which users may connect: those with write permission on the socket. 0
	// means 0600, this user only. Root always may.
	SocketMode os.FileMode
	// SpinMax bounds the spinning of one Wait before it sleeps. 0 means
	// spin.WakeCost, negative means none.
	SpinMax time.Duration

	// CheckPeer is called by Dial with the user id of the process that
	// listens at the socket, before anything is sent. Its error ends the dial,
	// wrapped with rdma.ErrDial. nil admits any user.
	CheckPeer func(uid uint32) error

	// MaxMapped bounds the bytes of its peer's regions that a connection has
	// mapped at a time. The peer's ring and table, little more than 1 MiB, are
	// not counted here. 0 means 16 TiB, for a client that dials a server it
	// trusts; a server should allow no more than its requests need.
	MaxMapped int64
	// Mapped counts the bytes that all connections, dialed and accepted, have
	// mapped of their peers' memory. nil means no limit.
	Mapped *limits.Budget
	// Connections counts the connections of all listeners, from a dialer's
	// hello until the queue pair is closed. nil means one of the device's own
	// that allows MaxConnections, to one source, too.
	Connections *limits.Budget
	// Silent counts the connections whose hello has not arrived. It must be
	// a replacing one (limits.NewReplacingBudget). nil means one of the device's
	// own that allows MaxSilent.
	Silent *limits.Budget
}

// ErrUnsupported is Open's error on systems other than Linux.
var ErrUnsupported = errors.New("shm: needs Linux (memfd, seals)")

// ErrVersion means that the other side speaks another protocol version. It is
// wrapped together with rdma.ErrDial.
var ErrVersion = errors.New("shm: protocol versions differ")

// ErrLimit means that a connection was refused, or ended, because of MaxMapped
// or a budget. The request that needed more was not executed; the outcome of
// others that were outstanding is unknown. Dialing again may succeed when
// others have disconnected.
var ErrLimit = limits.ErrExceeded

func (o *Options) fill() error {
	if o.SocketMode == 0 {
		o.SocketMode = 0o600
	}
	if o.SocketMode&^os.ModePerm != 0 {
		return fmt.Errorf("shm: SocketMode %v: only permission bits are allowed", o.SocketMode)
	}
	if o.MaxMapped == 0 {
		o.MaxMapped = defaultMaxMapped
	}
	if o.MaxMapped < 0 || o.MaxMapped > maxRegionBytes {
		return fmt.Errorf("shm: MaxMapped %d, allowed are 0 (default) to %d", o.MaxMapped, maxRegionBytes)
	}
	if o.Connections == nil {
		n := MaxConnections()
		o.Connections = limits.NewBudget("shm connections", n, n)
	}
	if o.Silent == nil {
		o.Silent = limits.NewReplacingBudget("shm connections without a hello", MaxSilent)
	}
	return nil
}
