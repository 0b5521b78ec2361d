package rdmatest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// badRemote makes one request that the target refuses. It is called with the
// target's host; its result replaces a field of an otherwise good request.
type badRemote struct {
	name   string
	ops    []rdma.Op
	status rdma.Status
	make   func(e *env, s *host) (rdma.Remote, int)
}

const remoteBytes = 8192 // of the target's regions

var (
	everyOp = []rdma.Op{rdma.OpRead, rdma.OpWrite, rdma.OpWriteImm}
	writers = []rdma.Op{rdma.OpWrite, rdma.OpWriteImm}
)

var badRemotes = []badRemote{
	{"LastBytePastEnd", everyOp, rdma.StatusRemoteBounds, func(e *env, s *host) (rdma.Remote, int) {
		return s.mem.Remote().At(remoteBytes - 99), 100
	}},
	{"FarPastEnd", everyOp, rdma.StatusRemoteBounds, func(e *env, s *host) (rdma.Remote, int) {
		return s.mem.Remote().At(1 << 40), 8
	}},
	{"OffsetOverflows", everyOp, rdma.StatusRemoteBounds, func(e *env, s *host) (rdma.Remote, int) {
		return rdma.Remote{Key: s.mem.Key(), Addr: math.MaxUint64 - 3}, 64
	}},
	{"UnknownKey", everyOp, rdma.StatusRemoteKey, func(e *env, s *host) (rdma.Remote, int) {
		r := s.mem.Remote()
		r.Key ^= 1<<37 ^ 1<<21 ^ 5 // also in keys of 32 bits
		return r, 64
	}},
	{"ClosedRegion", everyOp, rdma.StatusRemoteKey, func(e *env, s *host) (rdma.Remote, int) {
		r := e.region(s.dev, remoteBytes, allAccess)
		at := r.Remote()
		e.must(r.Close())
		return at, 64
	}},
	{"NoRemoteRead", []rdma.Op{rdma.OpRead}, rdma.StatusRemoteAccess, func(e *env, s *host) (rdma.Remote, int) {
		r := e.region(s.dev, remoteBytes, rdma.LocalWrite|rdma.RemoteWrite)
		return r.Remote(), 64
	}},
	{"NoRemoteWrite", writers, rdma.StatusRemoteAccess, func(e *env, s *host) (rdma.Remote, int) {
		r := e.region(s.dev, remoteBytes, rdma.LocalWrite|rdma.RemoteRead)
		e.Cleanup(func() { // runs before the device's, which unmaps r
			if len(bytes.Trim(r.Bytes(), "\x00")) != 0 {
				e.Error("a refused write changed the region")
			}
		})
		return r.Remote(), 64
	}},
}

// remoteCases makes a case of each row, with the bad request signaled
// and not.
func remoteCases() []testCase {
	all := []testCase{
		{"StaleKeyWhileInUse", caseStaleKey},
		{"PeerFailureFlushes", func(e *env) { runPeerFailure(e, false) }},
		{"PeerFailureFlushes/unsignaled", func(e *env) { runPeerFailure(e, true) }},
	}
	for _, b := range badRemotes {
		for _, op := range b.ops {
			for _, silent := range []bool{false, true} {
				name := fmt.Sprintf("Remote/%s/%s", b.name, op)
				if silent {
					name += "/unsignaled"
				}
				all = append(all, testCase{name, func(e *env) { runBadRemote(e, b, op, silent) }})
			}
		}
	}
	return all
}

// runBadRemote posts good, bad, good and good requests at once. Expected: the
// first succeeds, the bad one has its status, the others are flushed in
// order; both queue pairs fail and report it once; the target's memory and a
// second connection between the same devices are unharmed.
func runBadRemote(e *env, b badRemote, op rdma.Op, silent bool) {
	p := e.pair(remoteBytes)
	by := *p // the bystander connection
	by.cq, by.sq = e.connect(p.lis, p.c, p.s)
	fill(p.s.mem.Bytes(), 11)
	fill(p.c.mem.Bytes(), 12)
	want := bytes.Clone(p.s.mem.Bytes())
	copy(want[:8], p.c.mem.Bytes()) // request 1

	bad := rdma.WorkRequest{Op: op, ID: 2, Imm: 2, Unsignaled: silent}
	var n int
	bad.Remote, n = b.make(e, p.s)
	bad.Local = rdma.Buffer{Region: p.c.mem, Offset: 4096, Len: n}
	wrs := []rdma.WorkRequest{
		write(1, p.c.mem, 0, p.s.mem, 0, 8),
		bad,
		unsignaled(read(3, p.c.mem, 64, p.s.mem, 0, 8)),
		read(4, p.c.mem, 64, p.s.mem, 0, 8),
	}
	taken, err := p.cq.Post(wrs)
	if taken < 2 || (taken < len(wrs)) != (err != nil) {
		e.Fatalf("Post took %d: %v", taken, err)
	}
	if err != nil && !errors.Is(err, rdma.ErrQueuePair) {
		e.Fatalf("Post took %d: %v, want ErrQueuePair", taken, err)
	}
	faults := p.c.dev.Info().Faults
	status := []rdma.Status{rdma.StatusOK, expected(faults, b.status), rdma.StatusFlushed, rdma.StatusFlushed}
	for i, c := range e.take(p.c.send, taken) {
		good := c.Status == status[i]
		if faults == rdma.FaultsNone { // even request 1 may have no effect
			good = i == 0 || c.Status != rdma.StatusOK
		}
		if c.ID != wrs[i].ID || !good || c.Op != wrs[i].Op || c.QP != p.cq {
			e.Errorf("completion %d: %s %d %q, want %s %d %q", i,
				c.Op, c.ID, c.Status, wrs[i].Op, wrs[i].ID, status[i])
		}
		if i == 0 && c.Status != rdma.StatusOK {
			copy(want[:8], p.s.mem.Bytes()) // its effect is unknown
		}
	}
	e.failed(p.cq, p.c.recv)
	e.failed(p.sq, p.s.recv)

	// The bystander works, and its events show that nothing else was in the
	// queues. Both use them, so a stray completion is seen.
	e.fence(&by)
	if !bytes.Equal(p.s.mem.Bytes(), want) {
		e.Error("a refused request changed the target's memory")
	}
	e.silent(p.c.send, p.c.recv, p.s.send, p.s.recv)
}

// expected is the status for a refused request, on a device that
// distinguishes reasons or on one that does not.
func expected(f rdma.Faults, exact rdma.Status) rdma.Status {
	switch f {
	case rdma.FaultsCoarse:
		return rdma.StatusRemoteAccess
	case rdma.FaultsNone:
		return rdma.StatusPeerLost
	}
	return exact
}

// failed waits for the single OpRecv completion by which a queue pair reports
// that it failed, and checks the failed state.
func (e *env) failed(q rdma.QueuePair, recv rdma.CompletionQueue) {
	e.Helper()
	c := e.take(recv, 1)[0]
	if c.Op != rdma.OpRecv || c.Status == rdma.StatusOK || c.QP != q {
		e.Fatalf("want the failed queue pair's one OpRecv, got %s %q", c.Op, c.Status)
	}
	e.refuses(q)
}

// refuses checks that q is failed.
func (e *env) refuses(q rdma.QueuePair) {
	e.Helper()
	if q.Err() == nil {
		e.Error("Err is nil on a failed queue pair")
	}
	n, err := q.Post([]rdma.WorkRequest{event(77, 0)})
	if n != 0 || !errors.Is(err, rdma.ErrQueuePair) {
		e.Errorf("Post on a failed queue pair: %d, %v, want ErrQueuePair", n, err)
	}
}

// silent checks that the queues are empty. Call it after a fence.
func (e *env) silent(qs ...rdma.CompletionQueue) {
	e.Helper()
	var buf [4]rdma.Completion
	for i, q := range qs {
		if n := q.Poll(buf[:]); n > 0 {
			e.Errorf("queue %d has %d more completions, the first: %s ID %d %q",
				i, n, buf[0].Op, buf[0].ID, buf[0].Status)
		}
	}
}

// caseStaleKey closes a region that the peer was using.
func caseStaleKey(e *env) {
	p := e.pair(4096)
	r := e.region(p.s.dev, 4096, allAccess)
	key := r.Key()
	wr := read(1, p.c.mem, 0, r, 0, 64)
	e.post(p.cq, wr)
	e.takeOK(p.c.send, 1)
	e.must(r.Close())
	e.must(r.Close()) // harmless
	if again := e.region(p.s.dev, 4096, allAccess); again.Key() == key {
		e.Error("a closed region's key was given to another")
	}
	e.post(p.cq, wr)
	want := expected(p.c.dev.Info().Faults, rdma.StatusRemoteKey)
	if c := e.take(p.c.send, 1)[0]; c.Status != want {
		e.Errorf("read of a closed region: %q, want %q", c.Status, want)
	}
	e.failed(p.cq, p.c.recv)
	c := e.take(p.s.recv, 1)[0]
	var ce *rdma.CompletionError
	if !errors.As(c.Err(), &ce) || !errors.Is(c.Err(), rdma.ErrCompletion) || ce.Peer == "" {
		e.Errorf("Err of %+v is %v, want a *CompletionError that names the peer", c, c.Err())
	}
	e.refuses(p.sq)
}

// runPeerFailure: a side whose peer's request fails is notified, and its
// outstanding requests are completed, here behind a full receiver. Of
// unsignaled requests the failed ones complete, so together with the events
// that arrived all are accounted for.
func runPeerFailure(e *env, silent bool) {
	const depth = 64
	p := e.pair(4096, func(c *rdma.QPConfig) { c.SendDepth, c.RecvDepth = depth, 16 })
	taken := 0
	for held := false; !held && taken < 4096; {
		w := event(uint64(taken), uint32(taken))
		w.Unsignaled = silent
		// Full for this long: blocked by the receiver (or slow, then the case
		// is weaker).
		held = !poll(20*time.Millisecond, func() bool {
			n, err := p.sq.Post([]rdma.WorkRequest{w})
			if taken += n; err != nil && !isFull(err) {
				e.Fatal(err)
			}
			return n == 1
		})
	}
	e.post(p.cq, read(1, p.c.mem, 0, p.s.mem, 4090, 64))
	bounds := expected(p.c.dev.Info().Faults, rdma.StatusRemoteBounds)
	if c := e.take(p.c.send, 1)[0]; c.Status != bounds {
		e.Errorf("status %q, want %q", c.Status, bounds)
	}
	e.failed(p.sq, p.s.recv)
	// c polls what arrived before, then is notified of the failure.
	arrived := 0
	for ; ; arrived++ {
		c := e.take(p.c.recv, 1)[0]
		if c.Status != rdma.StatusOK {
			break
		}
		if c.Imm != uint32(arrived) {
			e.Fatalf("event %d has imm %d", arrived, c.Imm)
		}
	}
	e.refuses(p.cq)
	var got []rdma.Completion
	want := taken
	if silent {
		want -= arrived
	}
	var buf [8]rdma.Completion
	if !poll(e.cfg.Patience, func() bool {
		got = append(got, buf[:p.s.send.Poll(buf[:])]...)
		return len(got) >= want
	}) {
		e.Fatalf("of %d requests %d arrived, %d completed", taken, arrived, len(got))
	}
	bad := silent // then there are only failures
	for i, c := range got {
		if id := taken - len(got) + i; c.ID != uint64(id) {
			e.Fatalf("completion %d is of request %d, want %d", i, c.ID, id)
		}
		if bad && c.Status == rdma.StatusOK {
			e.Errorf("request %d succeeded after a failed one, or was unsignaled", c.ID)
		}
		bad = bad || c.Status != rdma.StatusOK
	}
}
