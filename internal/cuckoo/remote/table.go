package remote

import (
	"errors"
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/rdma"
)

// Table is one table in a server's memory, as a client knows it. Its owner
// sets the exported fields before the first walk. After that any number of
// Walks may use it at the same time.
type Table struct {
	Base   rdma.Remote // of the slab, to be passed to offload.Channel.Run
	Bytes  uint64      // of the slab, as many as can be reached from Base
	BootID uint64      // of the server that the table was opened at

	known atomic.Pointer[cuckoo.Header] // latest header read; nil at first
}

// Learn makes h the known header if it is newer. An owner that got it with the reply
// that opened the table saves its clients the first read. A header that leads beyond
// Bytes is ignored.
func (t *Table) Learn(h cuckoo.Header) {
	if h.Within(t.Bytes) != nil {
		return
	}
	for {
		old := t.known.Load()
		if old != nil && (old.Generation > h.Generation ||
			old.Generation == h.Generation && (old.Old == 0 || h.Old != 0)) {
			return
		}
		newer := h // on the heap, unlike h
		if t.known.CompareAndSwap(old, &newer) {
			return
		}
	}
}

// Errors of walks, besides those of cuckoo, offload and the Follower.
var (
	// ErrServerChanged: the memory is another server's now.
	ErrServerChanged = errors.New("cuckoo: server restarted")
	// ErrTooMany: more lookups than one walk carries.
	ErrTooMany = errors.New("cuckoo: too many lookups in one walk")
)
