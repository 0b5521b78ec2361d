package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/wire"
)

// pipeListener accepts the ends of pipes that dial makes.
type pipeListener struct{ *chanListener }

func newPipeListener() pipeListener { return pipeListener{newChanListener(&net.TCPAddr{})} }

// dial connects from a host.
func (l pipeListener) dial(t testing.TB, host string) net.Conn {
	a, b := net.Pipe()
	l.hand(t.Context(), hostConn{b, host})
	t.Cleanup(func() { a.Close() })
	return a
}

// hostConn is a connection that reports a host as its address.
type hostConn struct {
	net.Conn
	host string
}

func (c hostConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.host), Port: 1} }

// testMux runs a mux on pipes, and collects why connections were refused.
func testMux(t testing.TB, b *streamBudgets) (l pipeListener, m *mux, refused func() []error) {
	l = newPipeListener()
	m = newMux(l, b)
	m.hello = func() wire.Hello { return wire.Hello{Protocol: wire.ProtocolVersion} }
	m.tcp = func(c net.Conn) { io.Copy(io.Discard, c); c.Close() }
	m.failed = func(err error) { t.Error(err) }
	var mu sync.Mutex
	var errs []error
	m.reject = func(_ net.Conn, err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		l.Close()
		<-ended
	})
	return l, m, func() []error {
		mu.Lock()
		defer mu.Unlock()
		return errs
	}
}

// asks sends a preamble, and returns the hello that answers it.
func asks(c net.Conn) (h wire.Hello, err error) {
	p := wire.Preamble(wire.ProtocolVersion, wire.StreamHello)
	if _, err := c.Write(p[:]); err != nil {
		return h, err
	}
	return h, json.NewDecoder(c).Decode(&h)
}

// TestSilentSources: connections without a preamble displace each other, the oldest of
// the host with most of them first. A client of another host keeps its place in any
// case, one of the same host as long as there is room for the connections after
// it.
func TestSilentSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newStreamBudgets(4 << 30)
		l, _, refused := testMux(t, b)
		honest := l.dial(t, "10.0.0.7")
		first := l.dial(t, "10.0.0.66")
		for range 10 * maxSilent {
			l.dial(t, "10.0.0.66")
		}
		same := l.dial(t, "10.0.0.66")
		for range maxSilent - 2 { // the honest client has a place, too
			l.dial(t, "10.0.0.66")
		}
		synctest.Wait()
		if u := b.silent.Use(); u.Used != maxSilent {
			t.Errorf("%d silent connections, want %d", u.Used, maxSilent)
		}
		for name, c := range map[string]net.Conn{"another host": honest, "the flood's host": same} {
			if h, err := asks(c); err != nil || h.Protocol != wire.ProtocolVersion {
				t.Errorf("a client of %s: %+v, %v", name, h, err)
			}
		}
		if _, err := first.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the oldest silent connection: %v, want its end", err)
		}
		errs := refused()
		if want := 10*maxSilent + 1; len(errs) != want || !errors.Is(errs[0], limits.ErrCut) {
			t.Errorf("%d were cut, want %d; the log says %v", len(errs), want, errs[:1])
		}
	})
}

// TestSlowPreamble: the server does not wait for a preamble that comes byte by byte.
func TestSlowPreamble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, _ := testMux(t, newStreamBudgets(4<<30))
		c := l.dial(t, "10.0.0.66")
		start, p := time.Now(), wire.Preamble(wire.ProtocolVersion, wire.StreamHello)
		var err error
		for i := range p {
			if _, err = c.Write(p[i : i+1]); err != nil {
				break
			}
			<-time.After(time.Second)
		}
		if took := time.Since(start); err == nil || took > wire.PreambleTimeout+time.Second {
			t.Errorf("%v after %v, want the end after %v", err, took, wire.PreambleTimeout)
		}
	})
}

// TestConnectionTotal: plain sockets beyond the total of a host are refused
// with the limit, and counted while they are open.
func TestConnectionTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newStreamBudgets(4 << 30)
		b.conns = limits.NewBudget("TCP connections", 3, 2)
		l, _, refused := testMux(t, b)
		open := func(host string) net.Conn {
			c := l.dial(t, host)
			p := wire.Preamble(wire.ProtocolVersion, wire.StreamTCP)
			if _, err := c.Write(p[:]); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return c
		}
		one := open("10.0.0.66")
		open("10.0.0.66")
		r := bufio.NewReader(open("10.0.0.66"))
		kind, _, answer, err := wire.ReadFrame(r, nil, wire.MaxReply)
		if err != nil || kind != wire.KindFailure {
			t.Fatalf("the refused client got kind %d, %v", kind, err)
		}
		if told := wire.GetFailure(answer); !strings.Contains(told.Error(), "limit 2 for one source") {
			t.Errorf("the refused client was told: %v", told)
		}
		if more, err := io.ReadAll(r); len(more) > 0 || err != nil {
			t.Errorf("after the refusal: %d bytes, %v", len(more), err)
		}
		synctest.Wait()
		if errs := refused(); len(errs) != 1 || !errors.Is(errs[0], limits.ErrExceeded) {
			t.Errorf("the log says %v", errs)
		}
		if u := b.conns.Use(); u.Used != 2 {
			t.Errorf("%d connections are open, want 2", u.Used)
		}
		one.Close()
		synctest.Wait()
		open("10.0.0.66")
		open("10.0.0.7")
		if u := b.conns.Use(); u.Used != 3 || u.Refused != 1 || u.Cut != 0 {
			t.Errorf("%+v", u)
		}
		open("10.0.0.8") // another host takes the place of one that has two
		if u := b.conns.Use(); u.Used != 3 || u.Cut != 1 {
			t.Errorf("%+v", u)
		}
	})
}
