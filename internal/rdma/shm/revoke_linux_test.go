package shm

import (
	"encoding/binary"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/internal/rdma"
)

// TestWriteIsSeenOnceRevoked: the argument of post_linux.go, tried. The owner
// revokes in the middle of the Write, a little later each time. Without the fence
// F this finds up to a thousand Writes that completed and were not seen, on two
// idle processors of amd64, and some on busy ones, which manage fewer rounds.
func TestWriteIsSeenOnceRevoked(t *testing.T) {
	const rounds, limit, at = 100_000, time.Second, 4096
	table, err := newTable()
	if err != nil {
		t.Fatal(err)
	}
	defer table.close()
	// The race detector does not look at mapped memory: that is the race that
	// the fence decides.
	mem, err := unix.Mmap(-1, 0, 2*at, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mem) }()

	m := &mapping{mem: mem, size: 2 * at, access: remoteAccess}
	var begun, ended atomic.Int64
	var status rdma.Status
	var group sync.WaitGroup
	group.Go(func() { // the peer
		var b [16]byte
		for i := int64(1); await(&begun, i); i++ {
			binary.LittleEndian.PutUint64(b[8:], uint64(i))
			status = m.transfer(rdma.OpWrite, at, b[:])
			ended.Store(i)
		}
	})
	good, start := 0, time.Now()
	for i := int64(1); i <= rounds && time.Since(start) < limit; i++ {
		slot, generation, err := table.open()
		if err != nil {
			t.Fatal(err)
		}
		m.state, m.generation = tableWord(table.mem, slot), generation
		begun.Store(i)
		for range i % 256 {
			ended.Load() // takes a nanosecond or more
		}
		table.revoke(slot)
		seen := binary.LittleEndian.Uint64(mem[at+8:])
		await(&ended, i)
		if status != rdma.StatusOK {
			continue
		}
		if good++; seen != uint64(i) {
			t.Errorf("write %d completed, and was not seen by the owner that revoked", i)
		}
	}
	begun.Store(noMore)
	group.Wait()
	t.Logf("%d of %d writes completed", good, ended.Load())
}

const noMore = -1

// await spins until *n is want. False: it is noMore.
func await(n *atomic.Int64, want int64) bool {
	for tries := 1; ; tries++ {
		switch n.Load() {
		case want:
			return true
		case noMore:
			return false
		}
		if tries%10_000 == 0 {
			runtime.Gosched()
		}
	}
}
