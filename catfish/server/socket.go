package server

import (
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/shm"
	"github.com/catfish-index/catfish/internal/replica/lane"
)

// shmBudgets bound what the clients of a server's shm hold together.
type shmBudgets struct {
	silent, connections, mapped *limits.Budget
}

// mappedByDefault is how much the server maps of a client with a ring of the
// default size: the region, and less than 1 MiB that shm itself needs.
const mappedByDefault = fastmsg.MailboxBytes + fastmsg.DefaultRingBytes + 1<<20

// laneBytes is how much a member of a group maps of a follower: the largest ring. Mapping it
// costs little of this process; the memory is the follower's.
const laneBytes = int64(lane.MaxRingBytes + rdma.LineBytes)

// mostLanes is how many followers of one primary are never refused, with the largest rings.
const mostLanes = 8

// restingSHM is the memory of an honest client's connection at rest: 111 KiB.
// The memory of filled rings is counted separately (budgets.rings).
const restingSHM = 112 << 10

func newSHMBudgets(memory int64, member bool) shmBudgets {
	n := max(1, min(shm.MaxConnections(), memory/limits.ShmPart/restingSHM))
	mapped := n * mappedByDefault
	if member {
		mapped += mostLanes * laneBytes
	}
	return shmBudgets{
		silent:      limits.NewReplacingBudget("shm connections without a hello", shm.MaxSilent),
		connections: limits.NewBudget("shm connections", n, n),
		// A client with the default ring is never refused; larger rings give
		// way when there are many.
		mapped: limits.NewBudget("bytes mapped of shm clients", mapped, mapped),
	}
}

// options returns the options of a server's device. A client's memory is its
// mailbox and the ring for its answers.
func (b shmBudgets) options(o *Options) shm.Options {
	most := int64(fastmsg.MailboxBytes + fastmsg.MaxRingBytes)
	if o.member.on {
		most = max(most, laneBytes)
	}
	return shm.Options{
		SocketMode: o.SocketMode, MaxMapped: most,
		Silent: b.silent, Connections: b.connections, Mapped: b.mapped,
	}
}
