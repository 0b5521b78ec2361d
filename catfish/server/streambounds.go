package server

import (
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/wire"
)

// streamBudgets bound the resources of the peers of the server's TCP port, by
// host. Beyond a total, the host that has most gives way.
type streamBudgets struct {
	// silent are connections whose preamble has not arrived, or that are
	// being refused.
	silent *limits.Budget
	// conns are connections that are served: soft's queue pairs and plain sockets.
	conns *limits.Budget
	// unsent are the bytes that soft's queue pairs hold until clients take
	// them.
	unsent *limits.Budget
}

const (
	// maxSilent bounds the connections whose preamble has not arrived. Beyond
	// it the oldest of the host that has most is closed: a peer that sends its
	// preamble at once, as clients do, gets in. With 10,000 silent connections a
	// second from the same host, the preamble has 25 ms to arrive.
	maxSilent = 256

	// connBytes is the memory of a connection that holds nothing unsent, besides
	// its rings (budgets.rings): for soft, the buffers of its NIC goroutine (32
	// KiB and 9 KiB), that goroutine, the kernel's socket, and 32 KiB of outgoing
	// frames that are not counted. A plain socket takes less: 16 KiB for
	// requests, and while it answers 128 KiB that it shares (tcpwork.go).
	connBytes = 96 << 10
)

// newStreamBudgets divides memory, in bytes. Connections take at most half of
// the descriptors that this process may have; the others are for shm and files.
func newStreamBudgets(memory int64) *streamBudgets {
	conns := min(memory/limits.StreamsPart/connBytes, descriptors()/2)
	unsent := memory / limits.UnsentPart
	return &streamBudgets{
		silent: limits.NewReplacingBudget("connections that have not said what for", maxSilent),
		conns:  limits.NewBudget("TCP connections", conns, conns),
		unsent: limits.NewBudget("bytes that soft's clients have yet to take", unsent, unsent),
	}
}

// Limits of the memory that soft holds for one client: beyond them the client
// breaks the protocol, or waits.
const (
	// servedReads is the largest window of reads that a client may have
	// (Options.Window), with their headers.
	servedReads = wire.MaxWindow * (wire.MaxNode + 64)
	// servedQueue is how much workers queue for a client: four full rings of the
	// default size. Answers beyond it wait in package fastmsg.
	servedQueue = 1 << 20
)
