package soft

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/catfish-index/catfish/internal/rdma"
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

// TestRevokeWaitsForAccess: when Revoke or Close has returned, no remote access
// uses the memory, allocated by the device or by the caller.
func TestRevokeWaitsForAccess(t *testing.T) {
	s := open(t, Options{}, 1)
	own, err := s.dev.RegisterMemory(make([]byte, 4096), rdma.RemoteRead)
	must(t, err)
	other, err := s.dev.Register(4096, rdma.RemoteRead)
	must(t, err)
	for what, end := range map[rdma.Region]func() error{own: own.Close, other: other.Close, s.mem: s.mem.Revoke} {
		r := what.(*region)
		if !r.enter() {
			t.Fatal("closed")
		}
		var left atomic.Bool
		go func() {
			for !r.revoked.Load() {
				runtime.Gosched()
			}
			left.Store(true)
			r.leave()
		}()
		must(t, end())
		if !left.Load() {
			t.Error("Revoke or Close returned while the memory was in use")
		}
		if r.enter() || r.acquire() {
			t.Error("a revoked region can be used")
		}
	}
}

// TestRevokeDuringHalfAWrite: a peer of which half a Write has arrived does not
// delay Revoke. Its connection ends, without an acknowledgement.
func TestRevokeDuringHalfAWrite(t *testing.T) {
	for _, n := range []int{8, 3000, 1 << 20} {
		s := open(t, Options{}, 1<<20)
		l, err := s.dev.Listen("127.0.0.1:0")
		must(t, err)
		p := rawPeer(t, s, l, dialRaw(t, l.Addr()))
		b := append(appendRequest(nil, &rdma.WorkRequest{Op: rdma.OpWrite, Remote: s.mem.Remote()}, n), pattern(make([]byte, n), 5)...)
		_, err = p.conn.Write(b[:len(b)-n/2])
		must(t, err)
		q := s.q.(*queuePair)
		until(t, "the write begins", func() bool { return q.arriving.Load() == s.mem })
		must(t, s.mem.Revoke()) // or it waits for DefaultFrameTimeout
		want := slices.Clone(s.mem.Bytes())
		_, _ = p.conn.Write(b[len(b)-n/2:]) // fails if the end has arrived
		must(t, p.conn.SetDeadline(time.Now().Add(patience)))
		for f, _, err := p.next(); err == nil; f, _, err = p.next() {
			if f.kind == kindAck { // a PONG is none
				t.Errorf("%d bytes: the target acknowledged request %d", n, f.number)
			}
		}
		if c := take(t, s.recv, 1)[0]; c.QP != s.q || !errors.Is(s.q.Err(), errRevoked) {
			t.Errorf("%d bytes: %v, want %v", n, s.q.Err(), errRevoked)
		}
		same(t, "the memory", s.mem.Bytes(), want)
	}
}

// TestRevokeDuringOwnRead: a Read into a region that is revoked continues: the
// bytes are the owner's.
func TestRevokeDuringOwnRead(t *testing.T) {
	c, s := pairOf(t, Options{}, 1<<20)
	pattern(s.mem.Bytes(), 6)
	c.post(request(rdma.OpRead, 1, c.mem, 0, 1<<20, s.mem, 0))
	must(t, c.mem.Revoke())
	takeOK(t, c.send, 1)
	same(t, "what was read", c.mem.Bytes(), s.mem.Bytes())
}
