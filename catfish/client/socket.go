package client

import (
	"os"
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/wire"
)

// socketTrust decides whether a client talks to the process that listens at
// the socket which the server's hello names. The hello came over TCP and names
// the server's user: a socket that another user put at that path does not match
// it.
type socketTrust struct {
	server atomic.Pointer[uint32] // the server's user, nil: the hello does not name it
}

// check is the function for shm.Options.CheckPeer.
func (t *socketTrust) check(uid uint32) error {
	return wire.TrustedServer(uid, uint32(os.Geteuid()), t.server.Load())
}
