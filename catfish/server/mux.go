package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/wire"
)

// mux shares the server's TCP port. For each connection, a goroutine reads the
// preamble and passes the connection on to the service that it asks for.
//
//	            preamble       kind
//	accept --> silent --> route --> hello: answered and closed
//	                        |-----> soft, ofi: their listeners
//	                        |-----> tcp: serveTCP
//	                        +-----> none of these, or over budget: refused
type mux struct {
	ln      net.Listener
	budgets *streamBudgets
	hello   func() wire.Hello
	tcp     func(net.Conn)
	reject  func(net.Conn, error)
	failed  func(error) // called when Accept fails
	access  *gatekeeper // nil: clients need no key
	wg      sync.WaitGroup
	// streams are the listeners of the served transports, by kind of stream.
	// Constant once run is called.
	streams map[uint16]*chanListener
}

// acceptPause is the pause after a failed accept.
const acceptPause = 50 * time.Millisecond

func newMux(ln net.Listener, b *streamBudgets) *mux {
	return &mux{ln: ln, budgets: b, streams: make(map[uint16]*chanListener)}
}

// run accepts until the listener is closed, then waits for its goroutines.
func (m *mux) run(ctx context.Context) error {
	defer m.wg.Wait()
	for {
		c, err := m.ln.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, net.ErrClosed) {
				return err
			}
			// Mostly a lack of descriptors, some of which may be free again soon.
			m.failed(err)
			select {
			case <-time.After(acceptPause):
			case <-ctx.Done():
			}
			continue
		}
		m.arrived(ctx, c)
	}
}

// arrived starts a goroutine that reads a new connection's preamble. Accounts are
// opened in the order of arrival, which decides which connection is shed first.
func (m *mux) arrived(ctx context.Context, c net.Conn) {
	var cut atomic.Pointer[error]
	place := m.budgets.silent.Open(limits.SourceOf(c.RemoteAddr()), func(err error) {
		cut.Store(&err)
		c.Close()
	})
	if err := place.Take(1); err != nil { // only if there is room for none
		place.Close()
		m.reject(c, err)
		c.Close()
		return
	}
	m.wg.Go(func() {
		defer place.Close()
		stop := context.AfterFunc(ctx, func() { c.Close() })
		kind, err := wire.ReadPreamble(c)
		if why := cut.Load(); err != nil && why != nil {
			err = *why
		}
		pass, err := m.route(ctx, c, kind, err)
		if err != nil {
			m.reject(c, err)
		}
		stop()
		if pass == nil {
			c.Close()
			return
		}
		place.Close()
		pass()
	})
}

// route answers a request that can be answered at once, and returns the rest of the
// work, nil if the connection is to be closed.
func (m *mux) route(ctx context.Context, c net.Conn, kind uint16, err error) (pass func(), _ error) {
	if err != nil {
		return nil, err
	}
	var g *guard
	if m.access != nil {
		var done bool
		if kind, g, done, err = m.access.greet(c, kind); done {
			return nil, err
		}
	}
	switch ln := m.streams[kind]; {
	case kind == wire.StreamHello:
		_ = c.SetWriteDeadline(time.Now().Add(wire.PreambleTimeout))
		_ = json.NewEncoder(c).Encode(m.hello()) // if the client has left, it needs no answer
		return nil, nil
	case kind == wire.StreamSoft && ln != nil: // it counts its queue pairs itself
		return func() { ln.hand(ctx, c) }, nil
	case kind != wire.StreamTCP && ln == nil:
		return nil, fmt.Errorf("%w: stream of kind %d", model.ErrTransport, kind)
	}
	counted, err := m.count(c)
	switch {
	case err != nil && kind == wire.StreamTCP:
		refuseTCP(c, err)
		return nil, err
	case err != nil:
		return nil, err
	case kind == wire.StreamTCP:
		counted.guard = g
		return func() { m.wg.Go(func() { m.tcp(counted) }) }, nil
	}
	return func() { m.streams[kind].hand(ctx, counted) }, nil
}

// count takes a place for a connection among those that are served.
func (m *mux) count(c net.Conn) (*countedConn, error) {
	place := m.budgets.conns.Open(limits.SourceOf(c.RemoteAddr()), func(error) { c.Close() })
	if err := place.Take(1); err != nil {
		place.Close()
		return nil, err
	}
	return &countedConn{Conn: c, place: place}, nil
}

// countedConn gives its place back when it is closed.
type countedConn struct {
	net.Conn
	place *limits.Account
	guard *guard // nil: clients need no key
}

func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.place.Close()
	return err
}

// refuseTCP sends a client over plain sockets the reason why it is not served, as a
// failure that answers no request. It returns when the client has closed, so
// that no reset overtakes the text.
func refuseTCP(c net.Conn, why error) {
	_ = c.SetDeadline(time.Now().Add(wire.PreambleTimeout))
	if _, err := c.Write(wire.AppendFrame(nil, wire.KindFailure, 0, wire.AppendFailure(nil, why, 0))); err != nil {
		return
	}
	if w, ok := c.(interface{ CloseWrite() error }); ok {
		_ = w.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, c)
}

// chanListener is a net.Listener for connections that hand passes to it.
type chanListener struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newChanListener(addr net.Addr) *chanListener {
	return &chanListener{addr: addr, conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *chanListener) hand(ctx context.Context, c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.done:
		c.Close()
	case <-ctx.Done():
		c.Close()
	}
}

func (l *chanListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *chanListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *chanListener) Addr() net.Addr { return l.addr }
