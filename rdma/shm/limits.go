package shm

import "github.com/catfish-index/catfish/rdma"

const (
	// maxDepth bounds a receive ring: 32,768 events are 512 KiB, and
	// more than a 256 KiB ring of messages can announce.
	maxDepth = 1 << 15

	// maxRegionBytes keeps sizes far from overflow: 64 TiB, half of what
	// an x86 process addresses with four levels of page tables.
	maxRegionBytes = 1 << 46

	// tableSlots bounds the open regions of a device: ten thousand
	// clients with a few each. The table's pages are sparse.
	tableSlots = 1 << 16

	// maxRequestBytes is what verbs allow in one message (2 GiB).
	maxRequestBytes = 1 << 31

	remoteAccess = rdma.RemoteRead | rdma.RemoteWrite
)
