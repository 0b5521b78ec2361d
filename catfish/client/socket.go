package client

import (
	"fmt"
	"os"
	"sync/atomic"

	"github.com/catfish-index/catfish/catfish/model"
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
	return trustedServer(uid, uint32(os.Geteuid()), t.server.Load())
}

// trustedServer admits root and the client's own user, which both have full power
// over the client anyway, and the user that the server runs as. Then it does not
// matter which users may write to the socket's directory.
func trustedServer(uid, self uint32, server *uint32) error {
	switch {
	case uid == 0 || uid == self || server != nil && *server == uid:
		return nil
	case server == nil:
		return fmt.Errorf("%w: shm: the socket is of uid %d, and the server, an older one, does not say"+
			" which user it runs as", model.ErrTransport, uid)
	}
	return fmt.Errorf("%w: shm: the socket is of uid %d, the server runs as uid %d", model.ErrTransport, uid, *server)
}
