package shm

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/internal/rdma"
)

// A peer with the descriptor of a read-only region cannot write it by
// any means, nor resize it.
func TestReadOnlyRegionCannotBeWritten(t *testing.T) {
	s := newSide(t, 4096)
	r, err := s.dev.Register(2*pageBytes, rdma.LocalWrite|rdma.RemoteRead)
	check(t, err)
	copy(r.Bytes(), "original")
	raw := rawDial(t, listen(t, s), s)
	fd := raw.fetch(r.Key())

	if _, err := unix.Mmap(fd, 0, pageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); !isDenied(err) {
		t.Errorf("mapped writable: %v", err)
	}
	if _, err := unix.Pwrite(fd, []byte("x"), 0); err == nil {
		t.Error("wrote through the descriptor")
	}
	path := fmt.Sprintf("/proc/self/fd/%d", fd)
	if rw, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
		// Opening may be allowed (same user), writing is not.
		if _, err := unix.Mmap(rw, 0, pageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); !isDenied(err) {
			t.Errorf("mapped a reopened file writable: %v", err)
		}
		if _, err := unix.Pwrite(rw, []byte("x"), 0); !isDenied(err) {
			t.Errorf("wrote a reopened file: %v", err)
		}
		if err := unix.Ftruncate(rw, 0); !isDenied(err) {
			t.Errorf("truncated it: %v", err)
		}
		check(t, unix.Close(rw))
	}
	mem, err := unix.Mmap(fd, 0, pageBytes, unix.PROT_READ, unix.MAP_SHARED)
	check(t, err)
	if err := unix.Mprotect(mem, unix.PROT_READ|unix.PROT_WRITE); !isDenied(err) {
		t.Errorf("made a mapping writable: %v", err)
	}
	if string(mem[:8]) != "original" {
		t.Errorf("mapping shows %q", mem[:8])
	}
	check(t, unix.Munmap(mem))
	check(t, unix.Close(fd))

	// The owner still writes.
	copy(r.Bytes(), "changed!")
}

func isDenied(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)
}

func TestReceivedMemoryMustBeSealed(t *testing.T) {
	memfd := func(size int64, seals int) int {
		fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		check(t, err)
		t.Cleanup(func() { _ = unix.Close(fd) })
		check(t, unix.Ftruncate(fd, size))
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
		check(t, err)
		return fd
	}
	file, err := os.Create(t.TempDir() + "/f")
	check(t, err)
	defer file.Close()
	check(t, file.Truncate(1<<16))
	for _, tc := range []struct {
		name string
		fd   int
		want error
	}{
		{"good", memfd(1<<16, sizeSeals), nil},
		{"may shrink", memfd(1<<16, unix.F_SEAL_GROW|unix.F_SEAL_SEAL), errSeals},
		{"no seals", memfd(1<<16, 0), errSeals},
		{"too small", memfd(1<<16-1, sizeSeals), errSize},
		{"a file", int(file.Fd()), errSeals},
	} {
		mem, err := mapReceived(tc.fd, 1<<16, true)
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
		if err == nil {
			check(t, unix.Munmap(mem))
		}
	}
}

func TestLargeRegionsAreSparse(t *testing.T) {
	d := openDevice(t)
	before := shmemPages(t)
	r, err := d.Register(4<<30, everything)
	check(t, err)
	b := r.Bytes()
	b[0], b[len(b)/2], b[len(b)-1] = 1, 2, 3
	if got := shmemPages(t) - before; got > 64 {
		t.Errorf("4 GiB with 3 bytes used takes %d pages", got)
	}
	check(t, d.Close())
}

// shmemPages is this process's resident shared memory.
func shmemPages(t *testing.T) int {
	b, err := os.ReadFile("/proc/self/statm")
	check(t, err)
	n, err := strconv.Atoi(strings.Fields(string(b))[2])
	check(t, err)
	return n
}

// A closed region disappears at the peers, too, even if they post nothing.
func TestClosedRegionIsUnmappedByPeers(t *testing.T) {
	c, s := newPair(t, 4096)
	r, err := s.dev.Register(1<<20, everything)
	check(t, err)
	post(t, c.qp, transfer(rdma.OpRead, c.mem, r.Key(), 8))
	check(t, errOf(next(t, c.cq)))
	mapped := func() bool {
		c.qp.mu.Lock()
		defer c.qp.mu.Unlock()
		return c.qp.maps[r.Key()] != nil
	}
	if !mapped() {
		t.Fatal("not mapped after a read")
	}
	check(t, r.Close())
	eventually(t, "the peer unmaps", func() bool { return !mapped() })
	if err := c.qp.Err(); err != nil {
		t.Errorf("the pair failed: %v", err)
	}
}

func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

func TestTableSlots(t *testing.T) {
	tab, err := newTable()
	check(t, err)
	defer tab.close()
	slot, gen, err := tab.open()
	check(t, err)
	if gen%2 != 1 || tableWord(tab.mem, slot).Load() != gen {
		t.Errorf("generation %d, table says %d", gen, tableWord(tab.mem, slot).Load())
	}
	tab.revoke(slot)
	again, gen2, err := tab.open()
	check(t, err)
	if again != slot || gen2 <= gen || gen2%2 != 1 {
		t.Errorf("slot %d generation %d after %d generation %d", again, gen2, slot, gen)
	}
	for range tableSlots - 1 {
		_, _, err = tab.open()
		check(t, err)
	}
	if _, _, err = tab.open(); !errors.Is(err, rdma.ErrRegister) {
		t.Errorf("more regions than slots: %v", err)
	}
}
