package rdmatest

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// killCases kill a device within this process (Config.Kill).
var killCases = []testCase{
	{"KilledInProcess", caseKilledInProcess},
}

// processCases have the peer in a process of its own.
var processCases = []testCase{
	{"Process/Echo", caseProcessEcho},
	{"Process/KilledWhileReading", caseKilledWhileReading},
	{"Process/KilledWhileIdle", caseKilledWhileIdle},
	{"Process/KilledInitiator", caseKilledInitiator},
	{"Process/KilledInHandshake", caseKilledInHandshake},
	{"Process/Stopped", caseStopped},
	{"Process/StoppedInitiator", caseStoppedInitiator},
	{"Process/StoppedThenKilled", caseStoppedThenKilled},
	{"Process/StoppedThenRevoked", caseStoppedThenRevoked},
}

// peerLimit is rdma.PeerTimeout and the time that a loaded machine may add
// until this process runs again.
const peerLimit = rdma.PeerTimeout + 10*time.Second

// dialChild connects h to a serving child and returns its region.
func (e *env) dialChild(c *child, h *host) (rdma.QueuePair, rdma.Remote) {
	e.Helper()
	ctx, cancel := e.patience()
	defer cancel()
	q, err := h.dev.Dial(ctx, c.addr, rdma.QPConfig{SendCQ: h.send, RecvCQ: h.recv}, nil)
	e.must(err)
	return q, placeOf(q.PrivateData())
}

func (e *env) echo(h *host, q rdma.QueuePair, imm uint32) {
	e.Helper()
	e.post(q, event(1, imm))
	e.takeOK(h.send, 1)
	if c := e.takeOK(h.recv, 1)[0]; c.Imm != imm || c.QP != q {
		e.Fatalf("echo of %d is %d", imm, c.Imm)
	}
}

func caseProcessEcho(e *env) {
	h := e.host(childBytes)
	c := e.child(roleServe, e.cfg.Addr(e))
	q, far := e.dialChild(c, h)
	b := h.mem.Bytes()
	fill(b[:1000], 8)
	e.post(q, rdma.WorkRequest{Op: rdma.OpWrite, Unsignaled: true, Remote: far,
		Local: rdma.Buffer{Region: h.mem, Len: 1000}},
		rdma.WorkRequest{Op: rdma.OpRead, Remote: far,
			Local: rdma.Buffer{Region: h.mem, Offset: 4000, Len: 1000}})
	e.takeOK(h.send, 1)
	if string(b[:1000]) != string(b[4000:5000]) {
		e.Error("the other process's memory does not hold what was written")
	}
	for i := range uint32(100) {
		e.echo(h, q, i)
	}
}

// caseKilledWhileReading keeps Reads outstanding while the peer dies: each is
// completed, the failed ones last, within PeerTimeout.
func caseKilledWhileReading(e *env) {
	h := e.host(childBytes)
	c := e.child(roleServe, e.cfg.Addr(e))
	q, far := e.dialChild(c, h)
	wr := rdma.WorkRequest{Op: rdma.OpRead, Remote: far,
		Local: rdma.Buffer{Region: h.mem, Len: 4096}}
	next, done := uint64(0), uint64(0)
	failed, refused := false, false
	var killed time.Time
	var buf [32]rdma.Completion
	for !(failed || refused) || done < next {
		wr.ID = next
		n, err := q.Post([]rdma.WorkRequest{wr})
		next += uint64(n)
		refused = errors.Is(err, rdma.ErrQueuePair)
		if err != nil && !isFull(err) && !refused {
			e.Fatal(err)
		}
		for _, cm := range buf[:h.send.Poll(buf[:])] {
			if cm.ID != done {
				e.Fatalf("completion of request %d, want %d", cm.ID, done)
			}
			done++
			if failed && cm.Status == rdma.StatusOK {
				e.Fatalf("request %d succeeded after a failed one", cm.ID)
			}
			failed = failed || cm.Status != rdma.StatusOK
		}
		if done > 500 && killed.IsZero() {
			c.kill()
			killed = time.Now()
		}
		if !killed.IsZero() && time.Since(killed) > peerLimit {
			e.Fatalf("%v after the peer died: failed %v, %d of %d requests came back",
				time.Since(killed), failed, done, next)
		}
		if n == 0 && done < next {
			_ = h.send.Wait(context.Background(), 10*time.Millisecond)
		}
	}
	e.failed(q, h.recv)
	e.silent(h.send, h.recv)
}

func caseKilledWhileIdle(e *env) {
	h := e.host(childBytes)
	c := e.child(roleServe, e.cfg.Addr(e))
	q, _ := e.dialChild(c, h)
	e.echo(h, q, 1)
	c.kill()
	e.diedWithin(q, h)
}

// diedWithin is failed within PeerTimeout of now, the moment of death.
func (e *env) diedWithin(q rdma.QueuePair, h *host) {
	e.Helper()
	killed := time.Now()
	for {
		c := e.take(h.recv, 1)[0]
		if c.Status == rdma.StatusOK {
			continue // arrived before
		}
		if c.QP != q || c.Op != rdma.OpRecv {
			e.Fatalf("got %s %q of another queue pair", c.Op, c.Status)
		}
		break
	}
	if took := time.Since(killed); took > peerLimit {
		e.Errorf("detected the peer's death after %v, limit %v", took, rdma.PeerTimeout)
	}
	e.refuses(q)
}

// caseKilledInitiator kills a peer in the middle of its requests: the target
// is notified, and serves the next one.
func caseKilledInitiator(e *env) {
	h := e.host(childBytes)
	l := e.listen(h.dev)
	for range 2 {
		var c *child
		q := e.withChild(l, h, &c)
		for range 1000 {
			if cm := e.takeOK(h.recv, 1)[0]; cm.QP != q || cm.Bytes != 100 {
				e.Fatalf("event of %d bytes", cm.Bytes)
			}
		}
		c.kill()
		e.diedWithin(q, h)
		e.must(q.Close())
	}
	by := e.host(64)
	e.connect(l, by, h)
}

// withChild starts a flooding child and accepts it at the same time: the
// child is ready only once it was served.
func (e *env) withChild(l rdma.Listener, h *host, c **child) rdma.QueuePair {
	e.Helper()
	var q rdma.QueuePair
	accepted := make(chan error, 1)
	go func() {
		ctx, cancel := e.patience()
		defer cancel()
		req, err := l.Accept(ctx)
		if err == nil {
			q, err = req.Accept(rdma.QPConfig{SendCQ: h.send, RecvCQ: h.recv}, placeBytes(h.mem.Remote()))
		}
		accepted <- err
	}()
	*c = e.child(roleFlood, l.Addr())
	e.must(<-accepted)
	return q
}

// caseKilledInHandshake: a dialer that dies before it was answered.
func caseKilledInHandshake(e *env) {
	h := e.host(childBytes)
	l := e.listen(h.dev)
	c := e.child(roleIdle, l.Addr())
	ctx, cancel := e.patience()
	defer cancel()
	req, err := l.Accept(ctx)
	e.must(err)
	c.kill()
	q, err := req.Accept(rdma.QPConfig{SendCQ: h.send, RecvCQ: h.recv}, make([]byte, 16))
	if err == nil {
		e.diedWithin(q, h)
	}
	by := e.host(64) // the next dialer is served
	e.connect(l, by, h)
}

// caseStopped: a peer that is stopped for less than PeerTimeout. Post and
// Wait do not block meanwhile, and everything completes afterwards.
func caseStopped(e *env) {
	h := e.host(childBytes)
	c := e.child(roleServe, e.cfg.Addr(e))
	q, far := e.dialChild(c, h)
	e.echo(h, q, 1)
	e.signal(c, syscall.SIGSTOP)
	start := time.Now()
	taken := 0
	for taken < 200 { // echoes return to h.recv, within its depth
		n, err := q.Post([]rdma.WorkRequest{event(uint64(taken), uint32(taken)),
			{Op: rdma.OpRead, ID: uint64(taken + 1), Remote: far,
				Local: rdma.Buffer{Region: h.mem, Len: 64}}})
		if taken += n; err != nil {
			if !isFull(err) {
				e.Fatal(err)
			}
			break
		}
	}
	if err := h.recv.Wait(context.Background(), 50*time.Millisecond); err != nil && !errors.Is(err, rdma.ErrTimeout) {
		e.Error(err)
	}
	stopped := time.Since(start)
	e.signal(c, syscall.SIGCONT)
	if stopped > rdma.PeerTimeout {
		e.Errorf("Post or Wait blocked: %v for a stopped peer", stopped)
	}
	for i, cm := range e.takeOK(h.send, taken) {
		if cm.ID != uint64(i) {
			e.Fatalf("completion %d is of request %d", i, cm.ID)
		}
	}
	events := (taken + 1) / 2
	for i, cm := range e.takeOK(h.recv, events) {
		if cm.Imm != uint32(2*i) {
			e.Fatalf("echo %d is %d", i, cm.Imm)
		}
	}
	e.echo(h, q, 7)
}

// caseStoppedInitiator: a stopped peer does not delay others on the same
// device and queues.
func caseStoppedInitiator(e *env) {
	h := e.host(childBytes)
	l := e.listen(h.dev)
	var c *child
	stopped := e.withChild(l, h, &c)
	e.signal(c, syscall.SIGSTOP)
	p := &pair{lis: l, c: e.host(64), s: h}
	p.cq, p.sq = e.connect(l, p.c, h)
	for i := range uint32(200) {
		e.post(p.cq, event(1, i))
		e.takeOK(p.c.send, 1)
		for got := false; !got; { // among the events that the child had sent
			cm := e.takeOK(h.recv, 1)[0]
			if got = cm.QP == p.sq; got && cm.Imm != i {
				e.Fatalf("event %d has imm %d", i, cm.Imm)
			}
		}
	}
	c.kill() // works on stopped processes
	e.diedWithin(stopped, h)
	e.fence(p)
}

// caseStoppedThenKilled fills the queue pair to a stopped peer and kills
// it: all is flushed within PeerTimeout.
func caseStoppedThenKilled(e *env) {
	h := e.host(childBytes)
	c := e.child(roleServe, e.cfg.Addr(e))
	q, far := e.dialChild(c, h)
	e.echo(h, q, 1)
	e.signal(c, syscall.SIGSTOP)
	taken := 0
	for {
		n, err := q.Post([]rdma.WorkRequest{
			event(uint64(taken), 0),
			{Op: rdma.OpWrite, ID: uint64(taken + 1), Remote: far,
				Local: rdma.Buffer{Region: h.mem, Len: 4096}}})
		if taken += n; isFull(err) {
			break
		}
		e.must(err)
	}
	c.kill()
	killed := time.Now()
	for i, cm := range e.take(h.send, taken) {
		if cm.ID != uint64(i) {
			e.Fatalf("completion %d is of request %d", i, cm.ID)
		}
	}
	if took := time.Since(killed); took > peerLimit {
		e.Errorf("flushed %v after the peer's death, limit %v", took, rdma.PeerTimeout)
	}
	e.failed(q, h.recv)
}

// caseKilledInProcess is the same for providers that only reach this
// process.
func caseKilledInProcess(e *env) {
	p := e.pair(64, func(c *rdma.QPConfig) { c.SendDepth, c.RecvDepth = 64, 8 })
	taken := 0
	for taken < 64 {
		n, err := p.cq.Post([]rdma.WorkRequest{event(uint64(taken), 0)})
		if isFull(err) {
			break
		}
		e.must(err)
		taken += n
	}
	e.cfg.Kill(e, p.s.dev)
	killed := time.Now()
	last := rdma.StatusOK
	for i, c := range e.take(p.c.send, taken) {
		if c.ID != uint64(i) {
			e.Fatalf("completion %d is of request %d", i, c.ID)
		}
		if last != rdma.StatusOK && c.Status == rdma.StatusOK {
			e.Errorf("request %d succeeded after a failed one", i)
		}
		last = c.Status
	}
	if last == rdma.StatusOK {
		e.Error("no request failed, though the peer never polled")
	}
	e.failed(p.cq, p.c.recv)
	if took := time.Since(killed); took > peerLimit {
		e.Errorf("took %v, limit %v", took, rdma.PeerTimeout)
	}
}
