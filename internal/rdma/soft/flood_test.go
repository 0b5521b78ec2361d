package soft

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/rdma"
)

// fromHost is a connection that says it comes from somewhere.
type fromHost struct {
	net.Conn
	host string
}

func (c fromHost) RemoteAddr() net.Addr { return hostAddr(c.host) }

type hostAddr string

func (hostAddr) Network() string  { return "pipe" }
func (a hostAddr) String() string { return string(a) + ":1" }

// dialFrom connects from a host.
func (p *pipes) dialFrom(t testing.TB, host string) net.Conn {
	t.Helper()
	a, b := net.Pipe()
	select {
	case p.conns <- fromHost{b, host}:
	case <-p.done:
		t.Fatal("the listener is closed")
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// greets sends a hello, and returns the answer.
func greets(conn net.Conn) (*hello, error) {
	h := hello{recvDepth: 8, sendDepth: 8, maxRequest: 1 << 20, readWindow: 1 << 20}
	if _, err := conn.Write(h.encode()); err != nil {
		return nil, err
	}
	return readHello(conn, "target")
}

// TestSilentFlood: silent dialers end each other, the oldest of the host that
// has most first. Others keep their full time, and so does one of the same
// host until the dialers after it fill the room.
func TestSilentFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 16
		var log logBuffer
		pn := newPipes()
		s := open(t, pn.options(Options{MaxHandshakes: most, Log: log.logger()}), 64)
		l, err := s.dev.Listen("")
		must(t, err)
		go func() {
			for {
				req, err := l.Accept(context.Background())
				if err != nil {
					return
				}
				_, _ = req.Accept(s.config(), nil)
			}
		}()
		honest := pn.dialFrom(t, "10.0.0.7")
		first := pn.dialFrom(t, "10.0.0.66")
		for range 50 * most {
			pn.dialFrom(t, "10.0.0.66")
		}
		same := pn.dialFrom(t, "10.0.0.66")
		for range most - 2 { // the honest one has a place, too
			pn.dialFrom(t, "10.0.0.66")
		}
		synctest.Wait()
		for name, conn := range map[string]net.Conn{"another host": honest, "the flood's host": same} {
			if h, err := greets(conn); err != nil || h.verdict != verdictAccept {
				t.Errorf("a dialer of %s: %+v, %v", name, h, err)
			}
		}
		if _, err := first.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the oldest silent dialer: %v, want its end", err)
		}
		if !log.has("cut to make room for others: handshakes") {
			t.Error("the log does not say why dialers were cut")
		}
		must(t, l.Close())
	})
}

// TestWaitingBound: dialers that spoke and wait for an Accept that does not
// come are bounded, too, and get the reason.
func TestWaitingBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 4
		pn := newPipes()
		s := open(t, pn.options(Options{MaxHandshakes: most}), 64)
		l, err := s.dev.Listen("")
		must(t, err)
		h := hello{recvDepth: 8, sendDepth: 8, maxRequest: 1, readWindow: 1}
		for range most {
			_, err := pn.dialFrom(t, "10.0.0.66").Write(h.encode())
			must(t, err)
			synctest.Wait()
		}
		got, err := greets(pn.dialFrom(t, "10.0.0.66"))
		if err != nil || got.verdict != verdictReject || !strings.Contains(string(got.body), "limit 4") {
			t.Errorf("one too many: %+v, %v", got, err)
		}
		must(t, l.Close())
	})
}

// TestQueuePairBudget: a host that has its share of queue pairs is refused
// with the limit, and gets in again when one has ended.
func TestQueuePairBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pn := newPipes()
		pairs := limits.NewBudget("queue pairs", 3, 2)
		c, s := open(t, pn.options(Options{}), 64), open(t, pn.options(Options{QueuePairs: pairs}), 64)
		l, err := s.dev.Listen("")
		must(t, err)
		var accepted []rdma.QueuePair
		dial := func() (rdma.QueuePair, error) {
			answered := make(chan error, 1)
			go func() {
				req, err := l.Accept(context.Background())
				if err == nil {
					var q rdma.QueuePair
					if q, err = req.Accept(s.config(), nil); err == nil {
						accepted = append(accepted, q)
					}
				}
				answered <- err
			}()
			q, err := c.dev.Dial(context.Background(), "", c.config(), nil)
			if aerr := <-answered; errors.Is(err, rdma.ErrRejected) != errors.Is(aerr, limits.ErrExceeded) {
				t.Errorf("the dialer got %v, the listener %v", err, aerr)
			}
			return q, err
		}
		for range 2 {
			_, err := dial()
			must(t, err)
		}
		if _, err := dial(); !errors.Is(err, rdma.ErrRejected) || !strings.Contains(err.Error(), "limit 2 for one source") {
			t.Errorf("a third queue pair: %v", err)
		}
		must(t, accepted[0].Close())
		synctest.Wait()
		if _, err := dial(); err != nil {
			t.Errorf("after one has ended: %v", err)
		}
		if u := pairs.Use(); u.Used != 2 || u.Refused != 1 {
			t.Errorf("%+v", u)
		}
	})
}

// TestUnreadAnswers: peers that do not take the answers to their Reads are ended
// before they hold more than their budget, those that hold most first; another host
// is served meanwhile. When all have disconnected, no bytes are held.
func TestUnreadAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window, total = 1 << 20, 4 << 20
		pn := newPipes()
		unsent := limits.NewBudget("unsent bytes", total, total)
		var log logBuffer
		s := open(t, pn.options(Options{ReadWindow: window, Unsent: unsent, Log: log.logger()}), window)
		l, err := s.dev.Listen("")
		must(t, err)
		read := appendRequest(nil, &rdma.WorkRequest{Op: rdma.OpRead,
			Remote: rdma.Remote{Key: s.mem.Key()}}, window)
		var victims []rdma.QueuePair
		for range 12 {
			p := rawPeer(t, s, l, pn.dialFrom(t, "10.0.0.66"))
			victims = append(victims, s.q)
			_, _ = p.conn.Write(read)
			synctest.Wait()
			if u := unsent.Use(); u.Used > total {
				t.Fatalf("%d bytes are held, allowed %d", u.Used, total)
			}
		}
		cut := 0
		for _, q := range victims {
			if err := q.Err(); errors.Is(err, limits.ErrExceeded) {
				cut++
			}
		}
		if want := 12 - (total / window); cut != want {
			t.Errorf("%d of 12 peers were cut, want %d", cut, want)
		}
		honest := rawPeer(t, s, l, pn.dialFrom(t, "10.0.0.7"))
		mine := s.q
		pattern(s.mem.Bytes(), 7)
		_, err = honest.conn.Write(read)
		must(t, err)
		if f, b, err := honest.next(); err != nil || f.kind != kindReadResp || !bytes.Equal(b, s.mem.Bytes()) {
			t.Errorf("the honest one: %+v, %d bytes, %v", f, len(b), err)
		}
		must(t, mine.Err())
		synctest.Wait()
		if !log.has("cut to make room for others: unsent bytes") {
			t.Error("the log does not say that a peer was cut")
		}
		for _, q := range append(victims, mine) {
			must(t, q.Close())
		}
		// Ended queue pairs linger for their last message.
		<-time.After(10 * linger)
		if u := unsent.Use(); u.Used != 0 || u.Sources != 0 {
			t.Errorf("%+v after all have left", u)
		}
	})
}

// TestSlowReader: a peer that takes a little in every StallTimeout, but less
// than limits.LeastRate, is ended when all sent bytes should have arrived.
func TestSlowReader(t *testing.T) {
	for _, rate := range []int{limits.LeastRate / 2, 2 * limits.LeastRate} {
		t.Run(fmt.Sprintf("rate=%d", rate), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const window = 1 << 20
				pn := newPipes()
				s := open(t, pn.options(Options{ReadWindow: window}), window)
				l, err := s.dev.Listen("")
				must(t, err)
				p := rawPeer(t, s, l, pn.dialFrom(t, "10.0.0.66"))
				_, err = p.conn.Write(appendRequest(nil, &rdma.WorkRequest{Op: rdma.OpRead,
					Remote: rdma.Remote{Key: s.mem.Key()}}, window))
				must(t, err)
				quiet := make(chan struct{})
				defer func() { <-quiet }()
				defer p.conn.Close()
				go func() { // reports that it lives
					defer close(quiet)
					for {
						if _, err := p.conn.Write(appendHeader(nil, kindPong, false, 0)); err != nil {
							return
						}
						<-time.After(time.Second)
					}
				}()
				start, got := time.Now(), 0
				b := make([]byte, rate/10)
				for got < window {
					n, err := p.conn.Read(b)
					if got += n; err != nil {
						break
					}
					<-time.After(100 * time.Millisecond)
				}
				took := time.Since(start)
				if rate > limits.LeastRate {
					if got < window {
						t.Fatalf("%d of %d bytes arrived: %v", got, window, s.q.Err())
					}
					return
				}
				if most := DefaultStallTimeout + limits.TransferTime(window) + time.Second; took > most {
					t.Errorf("ended after %v, want at most %v", took, most)
				}
				if e := take(t, s.recv, 1)[0]; e.Status != rdma.StatusPeerLost {
					t.Errorf("status %q", e.Status)
				}
				if err := s.q.Err(); !errors.Is(err, ErrStalled) || !strings.Contains(err.Error(), "bytes a second") {
					t.Errorf("%v, want ErrStalled", err)
				}
			})
		})
	}
}

// TestLargeBuffersAreReleased: large buffers are released when they are not needed
// for a while, and those of an ended queue pair at once, though its owner keeps it.
func TestLargeBuffersAreReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 512 << 10
		pn := newPipes()
		unsent := limits.NewBudget("unsent bytes", 64<<20, 64<<20)
		c, s := pairOf(t, pn.options(Options{Unsent: unsent}), size)
		c.post(request(rdma.OpRead, 1, c.mem, 0, size, s.mem, 0))
		takeOK(t, c.send, 1)
		if unsent.Use().Used == 0 {
			t.Fatal("nothing is accounted for after a large read")
		}
		<-time.After(3 * trimTicks * rdma.PeerTimeout / ticksPerTimeout)
		if u := unsent.Use(); u.Used != 0 {
			t.Errorf("%d bytes are held by a queue pair at rest", u.Used)
		}
		c.post(request(rdma.OpRead, 2, c.mem, 0, size, s.mem, 0))
		takeOK(t, c.send, 1)
		must(t, c.q.Close())
		q := s.q.(*queuePair)
		take(t, s.recv, 1)
		<-time.After(10 * linger)
		q.mu.Lock()
		defer q.mu.Unlock()
		if n := cap(q.box.buf) + cap(q.box.spare); n != 0 {
			t.Errorf("an ended queue pair keeps %d bytes", n)
		}
	})
}

// FuzzHello: any first bytes of a dialer are an error or a hello within the
// limits, and no more than the hello is read.
func FuzzHello(f *testing.F) {
	good := hello{recvDepth: 8, sendDepth: 8, maxRequest: 1 << 20, readWindow: 1 << 20, body: []byte("private")}
	f.Add(good.encode())
	f.Add(append(good.encode(), "more"...))
	f.Add((&hello{verdict: verdictReject, body: []byte("full")}).encode())
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add(append(magic[:len(magic):len(magic)], 42, 0, 0, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		h, err := readHello(r, "peer")
		if err != nil {
			return
		}
		if got := h.encode(); !bytes.Equal(got, b[:len(b)-r.Len()]) {
			t.Fatalf("% x decoded to %+v", b, h)
		}
		if h.verdict != verdictReject {
			must(t, h.validate())
		}
	})
}
