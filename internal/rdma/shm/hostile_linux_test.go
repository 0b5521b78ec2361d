package shm

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/internal/rdma"
)

// rawPeer speaks the protocol by hand, as correctly as a test requires.
type rawPeer struct {
	t    *testing.T
	conn *net.UnixConn
	ring []byte // the peer's receive ring
	mine []byte // own receive ring
	buf  []byte
}

func rawConn(t *testing.T, addr string) *rawPeer {
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: addr, Net: "unixpacket"})
	check(t, err)
	t.Cleanup(func() { _ = c.Close() })
	check(t, c.SetDeadline(time.Now().Add(patience)))
	return &rawPeer{t: t, conn: c, buf: make([]byte, 4096)}
}

const rawDepth = 16

// rawDial connects to s, which accepts at l.
func rawDial(t *testing.T, l rdma.Listener, s *side) *rawPeer {
	t.Helper()
	r := rawConn(t, l.Addr())
	fd, mem, err := createMemory("raw", pages(ringBytes(rawDepth)), false)
	check(t, err)
	r.mine = mem
	newReceiver(mem, rawDepth)
	tab, err := newTable()
	check(t, err)
	t.Cleanup(func() { _ = unix.Munmap(mem); tab.close() })
	hello := greeting{kind: kindHello, version: version, depth: rawDepth}
	check(t, sendMessage(r.conn, hello.encode(), fd, tab.fd))
	check(t, unix.Close(fd))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := l.Accept(ctx)
	check(t, err)
	q, err := req.Accept(s.config(), nil)
	check(t, err)
	s.qp = q.(*queuePair)
	b, fds, err := receiveMessage(r.conn, r.buf)
	check(t, err)
	g, err := decodeGreeting(b)
	check(t, err)
	r.ring, err = mapReceived(fds[0], pages(ringBytes(int(g.depth))), true)
	check(t, err)
	t.Cleanup(func() { _ = unix.Munmap(r.ring) })
	closeAll(fds)
	return r
}

// fetch asks for a region and returns its descriptor.
func (r *rawPeer) fetch(key rdma.Key) int {
	r.t.Helper()
	m, fds := r.ask(key)
	if m.status != rdma.StatusOK || len(fds) != 1 {
		r.t.Fatalf("answer %+v with %d descriptors", m, len(fds))
	}
	return fds[0]
}

func (r *rawPeer) ask(key rdma.Key) (control, []int) {
	r.t.Helper()
	var b [answerBytes]byte
	check(r.t, sendMessage(r.conn, (&control{kind: kindAsk, key: key}).encode(&b)))
	for {
		b, fds, err := receiveMessage(r.conn, r.buf)
		check(r.t, err)
		m, err := decodeControl(b)
		check(r.t, err)
		if m.kind == kindAnswer {
			return m, fds
		}
	}
}

// ends checks that the server ends this connection.
func (r *rawPeer) ends() {
	r.t.Helper()
	for {
		_, fds, err := receiveMessage(r.conn, r.buf)
		closeAll(fds)
		if err == nil {
			continue
		}
		if errors.Is(err, errMessage) || isTimeout(err) {
			r.t.Errorf("the connection did not end: %v", err)
		}
		return
	}
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// Each violation fails the hostile pair with its status, once, and nothing
// else: another connection of the same queue continues.
func TestHostilePeers(t *testing.T) {
	var b [answerBytes]byte
	encode := func(c control) []byte { return append([]byte(nil), c.encode(&b)...) }
	for _, tc := range []struct {
		name   string
		status rdma.Status
		do     func(t *testing.T, r *rawPeer, s *side)
	}{
		{"garbage message", rdma.StatusProtocol, func(t *testing.T, r *rawPeer, _ *side) {
			check(t, sendMessage(r.conn, []byte("GET / HTTP/1.1")))
		}},
		{"long message", rdma.StatusProtocol, func(t *testing.T, r *rawPeer, _ *side) {
			check(t, sendMessage(r.conn, make([]byte, 3000)))
		}},
		{"second hello", rdma.StatusProtocol, func(t *testing.T, r *rawPeer, _ *side) {
			check(t, sendMessage(r.conn, (&greeting{kind: kindHello, version: version, depth: 8}).encode()))
		}},
		{"descriptors with a wake-up", rdma.StatusProtocol, func(t *testing.T, r *rawPeer, s *side) {
			check(t, sendMessage(r.conn, []byte{kindWake}, s.dev.table.fd, s.dev.table.fd))
		}},
		{"many descriptors", rdma.StatusProtocol, func(t *testing.T, r *rawPeer, s *side) {
			fds := make([]int, 100)
			for i := range fds {
				fds[i] = s.dev.table.fd
			}
			check(t, sendMessage(r.conn, []byte{kindWake}, fds...))
		}},
		{"answer that nobody asked for", rdma.StatusProtocol, func(t *testing.T, r *rawPeer, _ *side) {
			check(t, sendMessage(r.conn, encode(control{kind: kindAnswer, key: 1, status: rdma.StatusRemoteKey})))
		}},
		{"region that can shrink", rdma.StatusProtocol, func(t *testing.T, r *rawPeer, s *side) {
			fd, err := unix.MemfdCreate("shrinks", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
			check(t, err)
			defer unix.Close(fd)
			check(t, unix.Ftruncate(fd, 1<<16))
			post(t, s.qp, transfer(rdma.OpRead, s.mem, 99, 8))
			check(t, sendMessage(r.conn, encode(control{
				kind: kindAnswer, key: 99, access: rdma.RemoteRead, size: 1 << 16}), fd))
		}},
		{"garbage in the ring", rdma.StatusProtocol, func(_ *testing.T, r *rawPeer, _ *side) {
			for off := slotsOffset; off+8 <= len(r.ring); off += 8 {
				word64(r.ring, off).Store(0xdeadbeefdeadbeef)
			}
		}},
		{"impossible head", rdma.StatusProtocol, func(t *testing.T, r *rawPeer, s *side) {
			word64(r.mine, headOffset).Store(1 << 60)
			var err error
			for range 10 * rawDepth {
				if _, err = s.qp.Post([]rdma.WorkRequest{{Op: rdma.OpWriteImm, Unsignaled: true}}); err != nil {
					break
				}
			}
			if !errors.Is(err, rdma.ErrQueuePair) {
				t.Errorf("Post: %v", err)
			}
		}},
		{"asks again for what it has", rdma.StatusProtocol, func(t *testing.T, r *rawPeer, s *side) {
			check(t, unix.Close(r.fetch(s.mem.Key())))
			check(t, sendMessage(r.conn, encode(control{kind: kindAsk, key: s.mem.Key()})))
		}},
		{"goes away", rdma.StatusPeerLost, func(_ *testing.T, r *rawPeer, _ *side) {
			_ = r.conn.Close()
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, good := newSide(t, 4096), newSide(t, 4096)
			l := listen(t, s)
			connect(t, l, good, s)
			goodEnd := s.qp
			r := rawDial(t, l, s)
			bad := s.qp
			tc.do(t, r, s)
			if c := nextRecv(t, s.cq); c.QP != bad || c.Status != tc.status {
				t.Fatalf("got %q of %v", c.Status, c.QP.Peer())
			}
			if tc.status == rdma.StatusProtocol {
				r.ends()
			}
			post(t, good.qp, rdma.WorkRequest{Op: rdma.OpWriteImm, Imm: 5, Unsignaled: true})
			if c := nextRecv(t, s.cq); c.Imm != 5 || c.QP != goodEnd || c.Status != rdma.StatusOK {
				t.Errorf("the good peer's event: %+v", c)
			}
		})
	}
}

// nextRecv skips completions of own requests, which must have failed.
func nextRecv(t *testing.T, q rdma.CompletionQueue) rdma.Completion {
	t.Helper()
	for {
		c := next(t, q)
		if c.Op == rdma.OpRecv {
			return c
		}
		if c.Status == rdma.StatusOK {
			t.Errorf("own %v succeeded", c.Op)
		}
	}
}

// A wake-up is not sent when the socket is full. Then the messages that fill
// it have the same effect: here a revocation.
func TestRevocationWakes(t *testing.T) {
	s := newSide(t, 4096)
	r := rawDial(t, listen(t, s), s)
	q := s.cq
	woken := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	go func() { woken <- q.Wait(ctx, -1) }()
	for asleep := false; !asleep && ctx.Err() == nil; runtime.Gosched() {
		q.inbox.mu.Lock()
		asleep = q.inbox.asleep
		q.inbox.mu.Unlock()
	}
	if !newSender(r.ring, s.qp.recvDepth).push(7, 0) {
		t.Fatal("the sleeping queue has not armed the ring")
	}
	var b [answerBytes]byte
	check(t, sendMessage(r.conn, (&control{kind: kindRevoke, key: 1}).encode(&b)))
	check(t, <-woken)
	if c := nextRecv(t, s.cq); c.Imm != 7 || c.Status != rdma.StatusOK {
		t.Errorf("got %+v", c)
	}
}

// A peer cannot make Post wait: it stops reading and never answers.
func TestSilentPeerDoesNotBlockPost(t *testing.T) {
	s := newSide(t, 4096)
	rawDial(t, listen(t, s), s)
	start := time.Now()
	n := 0
	for range 1000 {
		k, err := s.qp.Post([]rdma.WorkRequest{transfer(rdma.OpRead, s.mem, 77, 8)})
		n += k
		if err != nil && !errors.Is(err, rdma.ErrQueueFull) && !errors.Is(err, rdma.ErrQueuePair) {
			t.Fatal(err)
		}
	}
	if took := time.Since(start); took > rdma.PeerTimeout {
		t.Errorf("Post took %v", took)
	}
	want := rdma.StatusPeerLost
	for flushed := 0; flushed < n; {
		if c := next(t, s.cq); c.Op == rdma.OpRead {
			if c.Status != want {
				t.Fatalf("request %d: %q, want %q", flushed, c.Status, want)
			}
			want = rdma.StatusFlushed
			flushed++
		}
	}
	if took := time.Since(start); took > rdma.PeerTimeout+10*time.Second {
		t.Errorf("flushed after %v", took)
	}
}

// The last tick of a wait ends the pair of a silent peer, and not that of one that has
// answered meanwhile.
func TestLastTick(t *testing.T) {
	s := newSide(t, 4096)
	rawDial(t, listen(t, s), s)
	post(t, s.qp, transfer(rdma.OpRead, s.mem, 77, 8))
	s.qp.tick(1, 1)
	if err := s.qp.Err(); !errors.Is(err, errAnswer) {
		t.Errorf("a silent peer: %v", err)
	}
	c, far := newSide(t, 4096), newSide(t, 4096)
	connect(t, listen(t, far), c, far)
	post(t, c.qp, transfer(rdma.OpRead, c.mem, far.mem.Remote().Key, 8))
	if got := next(t, c.cq); got.Status != rdma.StatusOK {
		t.Fatalf("%+v", got)
	}
	c.qp.tick(1, 1)
	if err := c.qp.Err(); err != nil {
		t.Errorf("a peer that has answered: %v", err)
	}
}

// Connections that send nothing, or nonsense, do not exclude others.
func TestBadConnectionsAtTheListener(t *testing.T) {
	s := newSide(t, 4096)
	l := listen(t, s)
	for i := range 20 {
		r := rawConn(t, l.Addr())
		if i%2 == 0 {
			check(t, sendMessage(r.conn, []byte("hello?")))
			m, _, err := receiveMessage(r.conn, r.buf)
			g, derr := decodeGreeting(m)
			if err != nil || derr != nil || g.kind != kindReject || !strings.Contains(g.reason, "greeting") {
				t.Errorf("answer to nonsense: %+v, %v, %v", g, err, derr)
			}
		}
	}
	c := newSide(t, 4096)
	connect(t, l, c, s)
	post(t, c.qp, rdma.WorkRequest{Op: rdma.OpWriteImm, Imm: 9, Unsignaled: true})
	if got := next(t, s.cq); got.Imm != 9 {
		t.Errorf("got %+v", got)
	}
}

func TestVersionsAreNamed(t *testing.T) {
	s := newSide(t, 4096)
	l := listen(t, s)
	r := rawConn(t, l.Addr())
	check(t, sendMessage(r.conn, (&greeting{kind: kindHello, version: 7, depth: 8}).encode()))
	b, _, err := receiveMessage(r.conn, r.buf)
	check(t, err)
	g, err := decodeGreeting(b)
	check(t, err)
	if g.kind != kindReject || !strings.Contains(g.reason, "1 here, 7 at the dialer") {
		t.Errorf("the server says %+v", g)
	}

	// And a newer server.
	path := socketPath(t)
	ln, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	check(t, err)
	defer ln.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := ln.AcceptUnix()
		if err != nil {
			return
		}
		defer c.Close()
		_, fds, _ := receiveMessage(c, make([]byte, 4096))
		closeAll(fds)
		_ = sendMessage(c, (&greeting{kind: kindReject, version: 8}).encode()[:12])
	}()
	_, err = s.dev.Dial(context.Background(), path, s.config(), nil)
	if !errors.Is(err, ErrVersion) || !errors.Is(err, rdma.ErrDial) ||
		!strings.Contains(err.Error(), "1 here, 8 at the server") {
		t.Errorf("Dial: %v", err)
	}
	<-done
}
