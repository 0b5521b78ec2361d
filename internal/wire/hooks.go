package wire

import (
	"context"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/rdma"
)

// ClientHooks change a client for tests of this module.
type ClientHooks struct {
	Wrap      func(rdma.Device) rdma.Device // wraps a provider, to inject faults; nil: not
	KeepYoung bool                          // references of records of any age are kept
	NameLease time.Duration                 // 0: nameLease
	// AfterReads is called when a search has read the server's memory, before it looks at
	// the lease; nil: not.
	AfterReads func()
	// CheckInterval is how often a client of a group looks for the primary, 0: checkInterval.
	CheckInterval time.Duration
}

// ServerHooks change a server for tests of this module.
type ServerHooks struct {
	Wrap        func(rdma.Device) rdma.Device        // wraps a provider; nil: not
	FirstPinned int64                                // size of the first region where memory is pinned, 0: FirstPinnedBytes
	NameLease   time.Duration                        // 0: nameLease
	Now         func() time.Duration                 // the clock of records; nil: the system's
	Resident    func(context.Context) (int64, error) // how much memory the process holds; nil: what the system says
}

// RawMessage is a request as it is sent.
type RawMessage struct {
	Kind fastmsg.Kind
	Body []byte
}

// Cut says how many read channels to end.
type Cut struct{ Most int }
