package shm

import "github.com/catfish-index/catfish/internal/rdma"

const (
	// maxDepth bounds a receive ring: 32,768 events are 512 KiB, and
	// more than a 256 KiB ring of messages can announce.
	maxDepth = 1 << 15

	// maxRegionBytes keeps sizes far from overflow: 64 TiB, half of what
	// an x86 process addresses with four levels of page tables.
	maxRegionBytes = 1 << 46

	// defaultMaxMapped is an eighth of those addresses: one peer that claims
	// all of it leaves enough for Go's heap, which grows by 64 MiB at a time.
	defaultMaxMapped = 1 << 44

	// tableSlots bounds the open regions of a device: ten thousand
	// clients with a few each. The table's pages are sparse.
	tableSlots = 1 << 16

	// maxRequestBytes is what verbs allow in one message (2 GiB).
	maxRequestBytes = 1 << 31

	remoteAccess = rdma.RemoteRead | rdma.RemoteWrite
)

// MaxSilent is how many connections may be without a hello at a time. A dialer
// sends its hello at once: beside 10,000 a second of its own source that send
// none, it has 25 ms to do so.
const MaxSilent = 256

// The cost of a connection to this process: descriptors for the socket and
// for the ring that its user registers; mappings of the receive ring, the
// peer's ring, table and region, the registered ring and its mirror.
const (
	filesPerConnection    = 2
	mappingsPerConnection = 6
)

// connectionsWithin is the number of connections that take three quarters of
// a process's descriptors and mappings, or all slots of the table, one each.
// The rest is for everything else: a Go program that cannot map memory ends.
func connectionsWithin(files, mappings int64) int64 {
	return max(1, min(tableSlots,
		files/4*3/filesPerConnection, mappings/4*3/mappingsPerConnection))
}
