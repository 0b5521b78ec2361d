package shm

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/internal/rdma"
)

// The table shows peers which regions are still open. There is one per
// device, mapped read-only by all peers, with a word for each region's slot:
//
//	offset 0   8   16  ...      tableBytes
//	       | g0 | g1 | g2 | ... |        g: generation, even = free
//
// A region takes a free slot and makes its generation odd; Close makes it
// even again. The answer to a peer's key request contains slot and
// generation, and the peer compares before and after each copy. A word never
// returns to an old value, so a slot's next region is not mistaken for the
// previous one. Generations reveal nothing about keys.
const tableBytes = tableSlots * 8

type table struct {
	fd   int // read-only, for peers
	mem  []byte
	uses uses // fd and mem outlive all users that acquired them

	mu   sync.Mutex
	free []uint32 // slots used before
	next uint32   // first slot never used
}

func newTable() (*table, error) {
	fd, mem, err := createMemory("catfish-table", tableBytes, true)
	if err != nil {
		return nil, err
	}
	ro, err := readOnlyFd(fd)
	if err != nil {
		_ = unix.Munmap(mem)
		_ = unix.Close(fd)
		return nil, err
	}
	t := &table{fd: ro, mem: mem}
	t.uses.down = t.unmap
	return t, nil
}

// tableWord is a slot's generation in a mapped table.
//
// SAFETY: slot < tableSlots, and mem is a whole table, so the word lies
// within it, aligned to 8 bytes.
func tableWord(mem []byte, slot uint32) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&mem[int(slot)*8]))
}

// open takes a slot for a region.
func (t *table) open() (slot uint32, generation uint64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.free); n > 0 {
		slot = t.free[n-1]
		t.free = t.free[:n-1]
	} else if t.next < tableSlots {
		slot = t.next
		t.next++
	} else {
		return 0, 0, fmt.Errorf("%w: %d regions are open, the limit of a device", rdma.ErrRegister, tableSlots)
	}
	return slot, tableWord(t.mem, slot).Add(1), nil
}

// revoke ends a region's generation: from now on peers see that it is
// closed.
func (t *table) revoke(slot uint32) {
	if !t.uses.acquire() {
		return // the device is closed, and its peers know
	}
	defer t.uses.release()
	t.mu.Lock()
	defer t.mu.Unlock()
	tableWord(t.mem, slot).Add(1)
	t.free = append(t.free, slot)
}

func (t *table) close() { t.uses.end() }

func (t *table) unmap() {
	_ = unix.Munmap(t.mem)
	_ = unix.Close(t.fd)
}
