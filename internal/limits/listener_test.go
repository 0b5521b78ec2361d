package limits

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
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

func testGate(silent, open int64) *Gate {
	return &Gate{
		Silent: NewReplacingBudget("silent", silent),
		Open:   NewBudget("open", open, open/2),
		Idle:   time.Minute,
	}
}

// TestSilentConnections: connections that send nothing make room for later
// ones, beginning with the oldest one of the host that has most of them.
func TestSilentConnections(t *testing.T) {
	g := testGate(3, 100)
	var all []*fakeConn
	for _, host := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.1", "10.0.0.1"} {
		all = append(all, &fakeConn{host: host})
	}
	l := &Listener{Listener: &knocks{conns: all}, Gate: g}
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
	if s, o := g.Silent.Use().Used, g.Open.Use().Used; s != 0 || o != 3 {
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
	if o := g.Open.Use(); o.Used != 0 || o.Sources != 0 {
		t.Errorf("after all have left: %+v", o)
	}
}

// TestConnectionsOfOneSource: a host has its share, and another host's
// connections are not affected.
func TestConnectionsOfOneSource(t *testing.T) {
	g := testGate(100, 4)
	var conns []*fakeConn
	for i := range 5 {
		conns = append(conns, &fakeConn{host: fmt.Sprintf("10.0.0.%d", max(1, i-2))})
	}
	l := &Listener{Listener: &knocks{conns: conns}, Gate: g}
	for i := range conns { // 1, 1, 1, 1, 2
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Read(make([]byte, 1))
		refused := i == 2 || i == 3
		if errors.Is(err, ErrExceeded) != refused || conns[i].closed != refused {
			t.Errorf("connection %d: %v", i, err)
		}
	}
	if u := g.Open.Use(); u.Used != 3 || u.Refused != 2 {
		t.Errorf("%+v", u)
	}
}

// TestWriteTimeout: a peer that takes nothing from its socket loses its
// connection.
func TestWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, theirs := net.Pipe()
		defer theirs.Close()
		c := &Conn{Conn: mine, gate: testGate(1, 2)}
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
