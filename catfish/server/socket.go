package server

import (
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
func (b shmBudgets) options(o *Options) shm.Options {
	return shm.Options{
		SocketMode: o.SocketMode, MaxMapped: fastmsg.MailboxBytes + fastmsg.MaxRingBytes,
		Silent: b.silent, Connections: b.connections, Mapped: b.mapped,
	}
}
