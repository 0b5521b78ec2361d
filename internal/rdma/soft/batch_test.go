package soft

import (
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// counted counts Writes, and lets one at a time through a gate. (A mutex
// would not do: a goroutine waiting for a mutex is not durably blocked for
// synctest.Wait.)
type counted struct {
	net.Conn
	writes *atomic.Int64
	gate   chan struct{}
}

func (c counted) Write(b []byte) (int, error) {
	c.writes.Add(1)
	c.gate <- struct{}{}
	defer func() { <-c.gate }()
	return c.Conn.Write(b)
}

// TestBatching: all requests of a Post, and of all Posts during a Write,
// leave in one Write.
func TestBatching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var writes atomic.Int64
		gate := make(chan struct{}, 1)
		pn := newPipes()
		pn.wrap = func(c net.Conn) net.Conn { return counted{c, &writes, gate} }
		c, s := pairOf(t, pn.options(Options{KeepAlive: -1}), 1<<16)
		wr := request(rdma.OpWrite, 0, c.mem, 0, 100, s.mem, 0)
		many := slices.Repeat([]rdma.WorkRequest{wr}, 50)

		before := writes.Load()
		c.post(many...)
		takeOK(t, c.send, 50)
		if n := writes.Load() - before; n != 1 {
			t.Errorf("a Post of 50 requests took %d writes", n)
		}

		before = writes.Load()
		gate <- struct{}{}
		c.post(wr)
		synctest.Wait() // its Write waits at the gate
		for range 50 {
			c.post(wr)
		}
		<-gate
		takeOK(t, c.send, 51)
		if n := writes.Load() - before; n != 2 {
			t.Errorf("51 Posts took %d writes, want 1 and 1 for the rest", n)
		}
	})
}

// TestBatchingTCP: a Post is one system call here, and all the answers are
// one at the target.
func TestBatchingTCP(t *testing.T) {
	c, s := pairOf(t, Options{}, 1<<16)
	const n = 60
	wr := request(rdma.OpRead, 0, c.mem, 0, 100, s.mem, 0)
	before, peer := c.dev.NIC(), s.dev.NIC()
	c.post(slices.Repeat([]rdma.WorkRequest{wr}, n)...)
	takeOK(t, c.send, n)
	after := c.dev.NIC()
	if got := after.Flushes - before.Flushes; got != 1 {
		t.Errorf("%d reads in one Post took %d system calls", n, got)
	}
	until(t, "statistics", func() bool {
		now := s.dev.NIC()
		return now.Reads-peer.Reads == n && now.Frames-peer.Frames == n &&
			now.Bytes-peer.Bytes == n*uint64(fixedBytes[kindReadReq])
	})
	// The stream may cut the requests in two, hardly more often.
	if got := s.dev.NIC().Flushes - peer.Flushes; got > n/4 {
		t.Errorf("%d answers took %d system calls", n, got)
	}
	if got := after.Frames - before.Frames; got > n+2 {
		t.Errorf("%d frames for %d answers", got, n)
	}
}

// TestAcks: if requested, they are sent at once; otherwise with the next
// bytes, when many wait, or after a tick.
func TestAcks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pairOf(t, newPipes().options(Options{KeepAlive: -1}), 1<<16,
			func(c, s *rdma.QPConfig) { c.SendDepth = 40 })
		q := c.q.(*queuePair)
		waiting := func() int {
			synctest.Wait()
			q.mu.Lock()
			defer q.mu.Unlock()
			return q.sqLen
		}
		quiet := request(rdma.OpWrite, 0, c.mem, 0, 8, s.mem, 0)
		quiet.Unsignaled = true
		expect := func(what string, want int) {
			t.Helper()
			if got := waiting(); got != want {
				t.Errorf("%s: %d requests without an answer, want %d", what, got, want)
			}
		}
		c.post(quiet, quiet)
		expect("unasked", 2)
		s.post(event(1))
		expect("with the next bytes", 0)
		c.post(slices.Repeat([]rdma.WorkRequest{quiet}, 9)...)
		expect("9 of 40", 9)
		c.post(quiet)
		expect("a quarter of the depth", 0)
		c.post(quiet, quiet)
		<-time.After(rdma.PeerTimeout / ticksPerTimeout)
		expect("after a tick", 0)
		loud := quiet
		loud.Unsignaled = false
		c.post(quiet, loud)
		expect("asked", 0)
		takeOK(t, c.send, 1)
	})
}

// TestPostDoesNotBlock: a peer that reads nothing does not block Post,
// for any number of posted bytes and any kind of stream.
func TestPostDoesNotBlock(t *testing.T) {
	const queued = 1 << 20
	for name, o := range map[string]Options{
		"tcp":    {QueuedBytes: queued},
		"opaque": {QueuedBytes: queued, Dial: opaqueDial},
	} {
		t.Run("stream="+name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			defer l.Close()
			mute := make(chan net.Conn, 1)
			go func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = readHello(conn, "")
				h := hello{recvDepth: 1, sendDepth: 1, verdict: verdictAccept,
					maxRequest: maxBytes, readWindow: maxBytes}
				_, _ = conn.Write(h.encode())
				mute <- conn
			}()
			c := open(t, o, 64<<10)
			cfg := c.config()
			cfg.SendDepth = 1 << 16
			c.q, err = c.dev.Dial(t.Context(), l.Addr().String(), cfg, nil)
			must(t, err)
			defer (<-mute).Close()
			wr := request(rdma.OpWrite, 0, c.mem, 0, 64<<10, c.mem, 0)
			q := c.q.(*queuePair)
			posted := 0
			// A queue that is full while the rest of a buffer is in flight
			// may empty: the backlog must have stopped shrinking.
			for last := -1; ; {
				n, err := c.q.Post([]rdma.WorkRequest{wr})
				if posted += n; err == nil {
					continue
				}
				q.mu.Lock()
				now := q.box.queued()
				q.mu.Unlock()
				if now == last {
					break
				}
				last = now
			}
			q.mu.Lock()
			have := q.box.queued()
			q.mu.Unlock()
			if have > queued+maxFixed {
				t.Errorf("%d bytes are queued, allowed %d", have, queued)
			}
			if posted < queued/(64<<10)-1 { // the frame headers take some room
				t.Errorf("full after %d requests", posted)
			}
		})
	}
}

func TestNoAllocations(t *testing.T) {
	c, s := pairOf(t, Options{}, 1<<16)
	wrs := []rdma.WorkRequest{
		request(rdma.OpRead, 1, c.mem, 0, 2048, s.mem, 0),
		request(rdma.OpWriteImm, 2, c.mem, 4096, 64, s.mem, 4096),
	}
	ctx := t.Context()
	buf := make([]rdma.Completion, 8)
	poll := func(cq rdma.CompletionQueue, n int) {
		for n > 0 {
			if k := cq.Poll(buf); k > 0 {
				n -= k
			} else if err := cq.Wait(ctx, -1); err != nil {
				t.Fatal(err)
			}
		}
	}
	round := func() {
		if _, err := c.q.Post(wrs); err != nil {
			t.Fatal(err)
		}
		poll(c.send, 2)
		poll(s.recv, 1)
	}
	for range 100 {
		round() // buffers grow, select's caches fill
	}
	// Counts allocations of both sides, including NIC goroutines.
	if n := testing.AllocsPerRun(200, round); n >= 1 {
		t.Errorf("%v allocations per round", n)
	}
}
