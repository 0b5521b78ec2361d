package soft

import (
	"bytes"
	"context"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

const (
	all      = rdma.LocalWrite | rdma.RemoteRead | rdma.RemoteWrite
	patience = time.Minute // only failing tests use it up
)

func opaqueDial(ctx context.Context, addr string) (net.Conn, error) {
	c, err := dialTCP(ctx, addr)
	if err != nil {
		return nil, err
	}
	return opaque{c}, nil
}

// pipes is a network of net.Pipes, with one listener.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
	wrap  func(net.Conn) net.Conn // of the dialer's end
}

func newPipes() *pipes {
	return &pipes{conns: make(chan net.Conn), done: make(chan struct{}),
		wrap: func(c net.Conn) net.Conn { return c }}
}

func (p *pipes) dial(ctx context.Context, _ string) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case p.conns <- b:
		return p.wrap(a), nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

// options returns o with this network. Nothing spins, because time stands
// still in a synctest bubble while a goroutine runs.
func (p *pipes) options(o Options) Options {
	o.Dial = p.dial
	o.Listen = func(string) (net.Listener, error) { return p, nil }
	o.Spin = -1
	return o
}

// side is one device with its queues and a region.
type side struct {
	t          testing.TB
	dev        *device
	send, recv rdma.CompletionQueue
	mem        rdma.Region
	q          rdma.QueuePair
}

func open(t testing.TB, o Options, size int) *side {
	t.Helper()
	d, err := Open(o)
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	s := &side{t: t, dev: d.(*device)}
	s.send, err = d.CreateCQ(0)
	must(t, err)
	s.recv, err = d.CreateCQ(0)
	must(t, err)
	s.mem, err = d.Register(size, all)
	must(t, err)
	return s
}

func (s *side) config() rdma.QPConfig {
	return rdma.QPConfig{SendCQ: s.send, RecvCQ: s.recv}
}

// connect makes a queue pair between c, which dials, and s.
func connect(c, s *side, l rdma.Listener, mods ...func(c, s *rdma.QPConfig)) {
	c.t.Helper()
	cc, sc := c.config(), s.config()
	for _, m := range mods {
		m(&cc, &sc)
	}
	accepted := make(chan error, 1)
	go func() {
		req, err := l.Accept(context.Background())
		if err == nil {
			s.q, err = req.Accept(sc, nil)
		}
		accepted <- err
	}()
	var err error
	c.q, err = c.dev.Dial(context.Background(), l.Addr(), cc, nil)
	must(c.t, err)
	must(c.t, <-accepted)
}

// pairOf connects two devices with the same options.
func pairOf(t testing.TB, o Options, size int, mods ...func(c, s *rdma.QPConfig)) (c, s *side) {
	t.Helper()
	c, s = open(t, o, size), open(t, o, size)
	l, err := s.dev.Listen("127.0.0.1:0")
	must(t, err)
	connect(c, s, l, mods...)
	return c, s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *side) post(wrs ...rdma.WorkRequest) {
	s.t.Helper()
	if n, err := s.q.Post(wrs); n != len(wrs) || err != nil {
		s.t.Fatalf("Post took %d of %d: %v", n, len(wrs), err)
	}
}

// take collects n completions.
func take(t testing.TB, cq rdma.CompletionQueue, n int) []rdma.Completion {
	t.Helper()
	out := make([]rdma.Completion, n)
	for got := 0; got < n; {
		m := cq.Poll(out[got:])
		if got += m; m > 0 {
			continue
		}
		if err := cq.Wait(context.Background(), patience); err != nil {
			t.Fatalf("got %d of %d completions: %v", got, n, err)
		}
	}
	return out
}

func takeOK(t testing.TB, cq rdma.CompletionQueue, n int) []rdma.Completion {
	t.Helper()
	cs := take(t, cq, n)
	for i := range cs {
		must(t, cs[i].Err())
	}
	return cs
}

// until waits for a condition.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%s: does not happen", what)
		}
	}
}

func request(op rdma.Op, id uint64, local rdma.Region, off, n int, remote rdma.Region, at int) rdma.WorkRequest {
	return rdma.WorkRequest{Op: op, ID: id,
		Local:  rdma.Buffer{Region: local, Offset: off, Len: n},
		Remote: remote.Remote().At(uint64(at))}
}

func event(imm uint32) rdma.WorkRequest {
	return rdma.WorkRequest{Op: rdma.OpWriteImm, ID: uint64(imm), Imm: imm}
}

// raw is a peer driven by hand: hostile, or broken.
type raw struct {
	t    testing.TB
	conn net.Conn
}

// rawPeer connects by hand to s, which accepts.
func rawPeer(t testing.TB, s *side, l rdma.Listener, conn net.Conn) raw {
	t.Helper()
	accepted := make(chan error, 1)
	go func() {
		req, err := l.Accept(context.Background())
		if err == nil {
			s.q, err = req.Accept(s.config(), nil)
		}
		accepted <- err
	}()
	h := hello{recvDepth: 8, sendDepth: 8, maxRequest: 1 << 20, readWindow: 1 << 20}
	_, err := conn.Write(h.encode())
	must(t, err)
	_, err = readHello(conn, "target")
	must(t, err)
	must(t, <-accepted)
	return raw{t, conn}
}

// next reads the next frame, io.EOF at the end.
func (p raw) next() (frame, []byte, error) {
	b := make([]byte, headBytes)
	if _, err := io.ReadFull(p.conn, b); err != nil {
		return frame{}, nil, err
	}
	if k := b[4]; k > 0 && k < kinds {
		b = append(b, make([]byte, fixedBytes[k]-headBytes)...)
	}
	if _, err := io.ReadFull(p.conn, b[headBytes:]); err != nil {
		return frame{}, nil, err
	}
	f, ok, err := decode(b, maxBytes)
	if err != nil || !ok {
		p.t.Errorf("the target sent %x: %v", b, err)
		return f, nil, io.ErrUnexpectedEOF
	}
	payload := make([]byte, f.payload)
	_, err = io.ReadFull(p.conn, payload)
	return f, payload, err
}

func dialRaw(t testing.TB, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func pattern(b []byte, seed byte) []byte {
	for i := range b {
		b[i] = byte(i)*7 + seed
	}
	return b
}

func same(t testing.TB, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs", what)
	}
}
