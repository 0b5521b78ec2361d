package api

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/catfish-index/catfish/internal/limits"
)

// fakeConn delivers a byte at each read.
type fakeConn struct {
	net.Conn
	host   string
	closed bool
}

func (c *fakeConn) Read(p []byte) (int, error) {
	if c.closed {
		return 0, io.EOF
	}
	return copy(p, "x"), nil
}
func (c *fakeConn) Close() error { c.closed = true; return nil }
func (c *fakeConn) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(c.host), Port: 1}
}

// knocks is a listener where connections arrive in a given order.
type knocks struct {
	net.Listener
	conns []*fakeConn
}

func (l *knocks) Accept() (net.Conn, error) {
	if len(l.conns) == 0 {
		return nil, net.ErrClosed
	}
	c := l.conns[0]
	l.conns = l.conns[1:]
	return c, nil
}

func testConnGate(silent, open int64) *connGate {
	return &connGate{
		silent: limits.NewReplacingBudget("silent", silent),
		open:   limits.NewBudget("open", open, open/2),
		idle:   DefaultIdleTimeout,
	}
}

// TestSilentConnections: connections that send nothing make room for later
// ones, beginning with the oldest one of the host that has most of them.
func TestSilentConnections(t *testing.T) {
	g := testConnGate(3, 100)
	var all []*fakeConn
	for _, host := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.1", "10.0.0.1"} {
		all = append(all, &fakeConn{host: host})
	}
	l := &boundedListener{Listener: &knocks{conns: all}, gate: g}
	var conns []net.Conn
	for range all {
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	for i, want := range []bool{true, false, true, false, false} {
		if all[i].closed != want {
			t.Errorf("connection %d closed: %v, want %v", i, all[i].closed, want)
		}
	}
	for i, c := range conns {
		if _, err := c.Read(make([]byte, 1)); (err != nil) != all[i].closed {
			t.Errorf("connection %d: %v", i, err)
		}
	}
	if s, o := g.silent.Use().Used, g.open.Use().Used; s != 0 || o != 3 {
		t.Errorf("%d silent, %d open, want 0 and 3", s, o)
	}
	for range 2 {
		for _, c := range conns {
			c.Close()
		}
		if _, err := conns[1].Read(make([]byte, 1)); err == nil {
			t.Error("a closed connection can be read")
		}
	}
	if o := g.open.Use(); o.Used != 0 || o.Sources != 0 {
		t.Errorf("after all have left: %+v", o)
	}
}

// TestConnectionsOfOneSource: a host has its share, and another host's
// connections are not affected.
func TestConnectionsOfOneSource(t *testing.T) {
	g := testConnGate(100, 4)
	var conns []*fakeConn
	for i := range 5 {
		conns = append(conns, &fakeConn{host: fmt.Sprintf("10.0.0.%d", max(1, i-2))})
	}
	l := &boundedListener{Listener: &knocks{conns: conns}, gate: g}
	for i := range conns { // 1, 1, 1, 1, 2
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Read(make([]byte, 1))
		refused := i == 2 || i == 3
		if errors.Is(err, limits.ErrExceeded) != refused || conns[i].closed != refused {
			t.Errorf("connection %d: %v", i, err)
		}
	}
	if u := g.open.Use(); u.Used != 3 || u.Refused != 2 {
		t.Errorf("%+v", u)
	}
}

// TestWriteTimeout: a peer that takes nothing from its socket loses its
// connection.
func TestWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, theirs := net.Pipe()
		defer theirs.Close()
		c := &boundedConn{Conn: mine, gate: testConnGate(1, 2)}
		defer c.Close()
		if _, err := c.Write([]byte("nobody reads this")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("write: %v", err)
		}
		go theirs.Read(make([]byte, 100))
		time.Sleep(time.Hour)
		if _, err := c.Write([]byte("this is read")); err != nil {
			t.Fatalf("after an hour: %v", err)
		}
	})
}

// A client that connects, and then sends nothing or stops within its first
// words, does not keep a server from ending.
func TestStopWithSilentConnections(t *testing.T) {
	for name, c := range map[string]struct {
		says string
		stop func(*Server)
	}{
		"silent, gracefully": {"", (*Server).GracefulStop},
		"silent":             {"", (*Server).Stop},
		"stopped":            {"PRI * HT", (*Server).Stop},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewServer(backend{"default": &fake{}})
				l := bufconn.Listen(64 << 10)
				served := make(chan error, 1)
				go func() { served <- s.Serve(l) }()
				conn, err := l.DialContext(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, err := io.WriteString(conn, c.says); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				began := time.Now()
				c.stop(s)
				if err := <-served; err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > 0 {
					t.Errorf("the server has ended after %v", took)
				}
			})
		})
	}
}
