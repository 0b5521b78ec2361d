package catfish

import (
	"fmt"
	"os"
	"sync/atomic"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/rdma/shm"
)

// shmBudgets bound what the clients of a server's shm hold together.
type shmBudgets struct {
	silent, connections, mapped *limits.Budget
}

// mappedByDefault is how much the server maps of a client with a ring of the
// default size: the region, and less than 1 MiB that shm itself needs.
const mappedByDefault = fastmsg.MailboxBytes + fastmsg.DefaultRingBytes + 1<<20

// restingSHM is the memory of an honest client's connection at rest: 111 KiB.
// The memory of filled rings is counted separately (budgets.rings).
const restingSHM = 112 << 10

func newSHMBudgets(memory int64) shmBudgets {
	n := max(1, min(shm.MaxConnections(), memory/limits.ShmPart/restingSHM))
	return shmBudgets{
		silent:      limits.NewReplacingBudget("shm connections without a hello", shm.MaxSilent),
		connections: limits.NewBudget("shm connections", n, n),
		// A client with the default ring is never refused; larger rings give
		// way when there are many.
		mapped: limits.NewBudget("bytes mapped of shm clients", n*mappedByDefault, n*mappedByDefault),
	}
}

// options returns the options of a server's device. A client's memory is its
// mailbox and the ring for its answers.
func (b shmBudgets) options(o *ServerOptions) shm.Options {
	return shm.Options{
		SocketMode: o.SocketMode, MaxMapped: fastmsg.MailboxBytes + fastmsg.MaxRingBytes,
		Silent: b.silent, Connections: b.connections, Mapped: b.mapped,
	}
}

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
			" which user it runs as", ErrTransport, uid)
	}
	return fmt.Errorf("%w: shm: the socket is of uid %d, the server runs as uid %d", ErrTransport, uid, *server)
}
