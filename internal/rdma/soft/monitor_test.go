package soft

import (
	"context"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// mutePeer accepts one connection by hand and reads everything, or nothing.
func mutePeer(t *testing.T, pn *pipes, hears bool) (pings *int, conn func() net.Conn) {
	pings = new(int)
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := pn.Accept()
		if err != nil {
			return
		}
		_, _ = readHello(c, "")
		h := hello{recvDepth: 99, sendDepth: 99, verdict: verdictAccept,
			maxRequest: 1 << 20, readWindow: 1 << 20}
		_, _ = c.Write(h.encode())
		accepted <- c
		p := raw{t, c}
		for hears {
			f, _, err := p.next()
			if err != nil {
				return
			}
			if f.kind == kindPing {
				*pings++
			}
		}
	}()
	return pings, func() net.Conn { return <-accepted }
}

// TestSilentPeer: a peer that neither answers nor closes counts as dead
// within PeerTimeout, whether or not it still reads.
func TestSilentPeer(t *testing.T) {
	for _, hears := range []bool{true, false} {
		for _, after := range []time.Duration{0, 130 * time.Millisecond, time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				pn := newPipes()
				c := open(t, pn.options(Options{KeepAlive: -1}), 64)
				pings, conn := mutePeer(t, pn, hears)
				var err error
				c.q, err = c.dev.Dial(context.Background(), "", c.config(), nil)
				must(t, err)
				if err := c.recv.Wait(context.Background(), after); err == nil {
					t.Fatal("an idle connection ended")
				}
				quiet := event(1)
				quiet.Unsignaled = true
				c.post(event(0), quiet, event(2))
				start := time.Now()
				cs := take(t, c.send, 3)
				want := []rdma.Status{rdma.StatusPeerLost, rdma.StatusFlushed, rdma.StatusFlushed}
				for i, e := range cs {
					if e.Status != want[i] || e.ID != uint64(i) {
						t.Errorf("completion %d: %d %q", i, e.ID, e.Status)
					}
				}
				if e := take(t, c.recv, 1)[0]; e.Op != rdma.OpRecv || e.Status != rdma.StatusPeerLost {
					t.Errorf("receive: %s %q", e.Op, e.Status)
				}
				took := time.Since(start)
				if took > rdma.PeerTimeout || took < rdma.PeerTimeout/2 {
					t.Errorf("given up after %v", took)
				}
				synctest.Wait()
				if hears && *pings != 1 {
					t.Errorf("%d pings", *pings)
				}
				_ = conn().Close()
			})
		}
	}
}

// TestIdleConnectionIsProbed: probes keep an idle connection up, and detect a dead peer.
func TestIdleConnectionIsProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pn := newPipes()
		c, s := pairOf(t, pn.options(Options{}), 64)
		if err := c.recv.Wait(context.Background(), time.Hour); err == nil {
			t.Fatal("an idle connection ended")
		}
		if n := s.dev.NIC().Frames; n < 60 {
			t.Errorf("%d frames in an hour: no probes", n)
		}
		c.post(event(1))
		takeOK(t, s.recv, 1)
	})
	synctest.Test(t, func(t *testing.T) {
		pn := newPipes()
		c := open(t, pn.options(Options{}), 64)
		_, conn := mutePeer(t, pn, true)
		_, err := c.dev.Dial(context.Background(), "", c.config(), nil)
		must(t, err)
		start := time.Now()
		if e := take(t, c.recv, 1)[0]; e.Status != rdma.StatusPeerLost {
			t.Errorf("receive: %q", e.Status)
		}
		if took := time.Since(start); took > DefaultKeepAlive+rdma.PeerTimeout {
			t.Errorf("took %v", took)
		}
		_ = conn().Close()
	})
}

// narrow is a slow link: 16 KiB every 100 ms.
type narrow struct{ net.Conn }

func (n narrow) Write(b []byte) (done int, err error) {
	for piece := range slices.Chunk(b, 16<<10) {
		k, err := n.Conn.Write(piece)
		if done += k; err != nil {
			return done, err
		}
		<-time.After(100 * time.Millisecond)
	}
	return done, nil
}

// TestSlowLine: transfers that take longer than PeerTimeout, in both
// directions, do not make the peer look dead.
func TestSlowLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pn := newPipes()
		pn.wrap = func(c net.Conn) net.Conn { return narrow{c} }
		const size = 1 << 20 // 6.4 s
		c, s := pairOf(t, pn.options(Options{}), size)
		pattern(c.mem.Bytes(), 6)
		start := time.Now()
		c.post(request(rdma.OpWrite, 1, c.mem, 0, size, s.mem, 0))
		takeOK(t, c.send, 1)
		same(t, "what was written", s.mem.Bytes(), c.mem.Bytes())
		clear(s.mem.Bytes())
		s.post(request(rdma.OpRead, 2, s.mem, 0, size, c.mem, 0))
		takeOK(t, s.send, 1)
		same(t, "what was read", s.mem.Bytes(), c.mem.Bytes())
		if took := time.Since(start); took < 4*rdma.PeerTimeout {
			t.Errorf("took %v: the line was not slow", took)
		}
	})
}

// TestStalledReader: a peer that lives but does not read is cut off after
// StallTimeout.
func TestStalledReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pn := newPipes()
		c := open(t, pn.options(Options{}), 64)
		_, conn := mutePeer(t, pn, false)
		var err error
		c.q, err = c.dev.Dial(context.Background(), "", c.config(), nil)
		must(t, err)
		peer := conn()
		quiet := make(chan struct{})
		go func() { // reports that it lives, every second
			defer close(quiet)
			for {
				if _, err := peer.Write(appendHeader(nil, kindPong, false, 0)); err != nil {
					return
				}
				<-time.After(time.Second)
			}
		}()
		c.post(event(1))
		start := time.Now()
		if e := take(t, c.send, 1)[0]; e.Status != rdma.StatusPeerLost {
			t.Errorf("status %q", e.Status)
		}
		if took := time.Since(start); took > DefaultStallTimeout+time.Second {
			t.Errorf("took %v", took)
		}
		_ = peer.Close()
		<-quiet
	})
}
