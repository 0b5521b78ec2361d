package soft

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/catfish-index/catfish/rdma"
)

// TestAlloc covers both ways to allocate memory.
func TestAlloc(t *testing.T) {
	for name, f := range map[string]func(int) ([]byte, func(), error){
		"platform": alloc, "heap": allocHeap,
	} {
		for _, size := range []int{1, 63, 4096, 4097, 1 << 20} {
			mem, free, err := f(size)
			must(t, err)
			if len(mem) != size || cap(mem) != size {
				t.Errorf("%s: %d bytes, capacity %d, want %d", name, len(mem), cap(mem), size)
			}
			if at := uintptr(unsafe.Pointer(&mem[0])); at%uintptr(os.Getpagesize()) != 0 {
				t.Errorf("%s: %d bytes at %#x", name, size, at)
			}
			for i, b := range mem {
				if b != 0 {
					t.Fatalf("%s: byte %d is %d", name, i, b)
				}
			}
			pattern(mem, 1)
			free()
		}
	}
}

// TestRegionFreedOnce: the memory is freed when the last user has left, once,
// and never before.
func TestRegionFreedOnce(t *testing.T) {
	s := open(t, Options{}, 1)
	for range 2000 {
		var freed, users atomic.Int64
		r := &region{dev: s.dev, free: func() {
			if users.Load() != 0 {
				t.Error("freed while in use")
			}
			freed.Add(1)
		}}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for r.acquire() {
					users.Add(1)
					users.Add(-1)
					r.release()
				}
			})
		}
		must(t, r.Close())
		wg.Wait()
		if n := freed.Load(); n != 1 {
			t.Fatalf("freed %d times", n)
		}
	}
}

func TestRegionCheck(t *testing.T) {
	r := &region{mem: make([]byte, 100), access: rdma.RemoteRead}
	for _, tc := range []struct {
		need   rdma.Access
		offset uint64
		n      int
		want   rdma.Status
	}{
		{rdma.RemoteRead, 0, 100, rdma.StatusOK},
		{rdma.RemoteRead, 100, 0, rdma.StatusOK},
		{rdma.RemoteRead, 0, 101, rdma.StatusRemoteBounds},
		{rdma.RemoteRead, 1, 100, rdma.StatusRemoteBounds},
		{rdma.RemoteRead, 101, 0, rdma.StatusRemoteBounds},
		{rdma.RemoteRead, 1<<64 - 1, 2, rdma.StatusRemoteBounds},
		{rdma.RemoteWrite, 0, 1, rdma.StatusRemoteAccess},
		{rdma.RemoteWrite, 0, 1000, rdma.StatusRemoteAccess},
	} {
		if got := r.check(tc.need, tc.offset, tc.n); got != tc.want {
			t.Errorf("access %d, offset %d, %d bytes: %s, want %s",
				tc.need, tc.offset, tc.n, got, tc.want)
		}
	}
}

func TestRegisterMemory(t *testing.T) {
	c, s := pairOf(t, Options{}, 4096)
	page, free, err := alloc(8192)
	must(t, err)
	defer free()
	reg, err := s.dev.RegisterMemory(page[64:4000], rdma.RemoteRead)
	must(t, err)
	pattern(page, 9)
	c.post(request(rdma.OpRead, 1, c.mem, 0, 100, reg, 3836))
	takeOK(t, c.send, 1)
	same(t, "what was read", c.mem.Bytes()[:100], page[3900:4000])
	must(t, reg.Close())
	page[64] = 1 // the owner may still use it
	for _, bad := range [][]byte{nil, page[:0], page[1:], page[8:]} {
		if _, err := s.dev.RegisterMemory(bad, 0); !errors.Is(err, rdma.ErrRegister) {
			t.Errorf("%d bytes registered: %v", len(bad), err)
		}
	}
}

// TestRegionClosedInUse closes a region under a stream of Reads.
func TestRegionClosedInUse(t *testing.T) {
	for range 20 {
		c, s := pairOf(t, Options{}, 1<<20)
		var got []rdma.Completion
		for i := uint64(0); len(got) < 5; i++ {
			n, err := c.q.Post([]rdma.WorkRequest{
				request(rdma.OpRead, i, c.mem, 0, 64<<10, s.mem, 0)})
			if n == 0 && !errors.Is(err, rdma.ErrQueueFull) {
				t.Fatal(err)
			}
			var buf [8]rdma.Completion
			got = append(got, buf[:c.send.Poll(buf[:])]...)
		}
		must(t, s.mem.Close())
		for {
			// Refused once the failure is on its way, or has been taken.
			_, _ = c.q.Post([]rdma.WorkRequest{
				request(rdma.OpRead, 0, c.mem, 0, 64, s.mem, 0)})
			e := take(t, c.send, 1)[0]
			if e.Status == rdma.StatusRemoteKey {
				break
			}
			must(t, e.Err())
		}
		must(t, c.dev.Close())
		must(t, s.dev.Close())
	}
}

// TestRegisteredMemory: when Close of a Region of the caller's memory has
// returned, no remote access uses the memory.
func TestRegisteredMemory(t *testing.T) {
	s := open(t, Options{}, 1)
	reg, err := s.dev.RegisterMemory(make([]byte, 4096), rdma.RemoteRead)
	must(t, err)
	r := reg.(*region)
	if !r.acquire() {
		t.Fatal("closed")
	}
	var released atomic.Bool
	began := make(chan struct{})
	go func() {
		<-began
		for !r.closed.Load() {
			runtime.Gosched()
		}
		released.Store(true)
		r.release()
	}()
	close(began)
	must(t, r.Close())
	if !released.Load() {
		t.Error("Close returned while the memory was in use")
	}
}
