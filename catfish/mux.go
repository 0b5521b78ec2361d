package catfish

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

// mux shares the server's TCP port. For each connection, a goroutine reads the
// preamble and passes the connection on to the service that it asks for.
type mux struct {
	ln     net.Listener
	hello  func() hello
	tcp    func(net.Conn)
	reject func(net.Conn, error)
	failed func(error) // called when Accept fails
	wg     sync.WaitGroup
	// streams are the listeners of the transports that are served, by kind
	// of stream. Constant once run is called.
	streams map[uint16]*chanListener

	mu     sync.Mutex
	silent []net.Conn // whose preamble has not arrived, oldest first
}

// maxSilent bounds the connections whose preamble has not arrived, so that they
// cannot use up descriptors. Beyond it the oldest is closed: a correct client
// sends its preamble at once, so a flood of silent connections closes its own.
const maxSilent = 256

// acceptPause is the pause after a failed accept.
const acceptPause = 50 * time.Millisecond

func newMux(ln net.Listener) *mux { return &mux{ln: ln, streams: make(map[uint16]*chanListener)} }

// arrived adds a new connection to the silent ones.
func (m *mux) arrived(c net.Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.silent) == maxSilent {
		m.silent[0].Close()
		m.silent = slices.Delete(m.silent, 0, 1)
	}
	m.silent = append(m.silent, c)
}

// spoke removes a connection from the silent ones.
func (m *mux) spoke(c net.Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.Index(m.silent, c); i >= 0 {
		m.silent = slices.Delete(m.silent, i, i+1)
	}
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
			// Mostly a lack of descriptors, which may be free again soon.
			m.failed(err)
			select {
			case <-time.After(acceptPause):
			case <-ctx.Done():
			}
			continue
		}
		m.arrived(c)
		m.wg.Go(func() {
			stop := context.AfterFunc(ctx, func() { c.Close() })
			kind, err := readPreamble(c)
			m.spoke(c)
			stop()
			m.route(ctx, c, kind, err)
		})
	}
}

func (m *mux) route(ctx context.Context, c net.Conn, kind uint16, err error) {
	switch {
	case err == nil && kind == streamHello:
		_ = json.NewEncoder(c).Encode(m.hello()) // if the client has left, it needs no answer
		c.Close()
	case err == nil && m.streams[kind] != nil:
		m.streams[kind].hand(ctx, c)
	case err == nil && kind == streamTCP:
		m.wg.Go(func() { m.tcp(c) })
	default:
		if err == nil {
			err = ErrTransport
		}
		m.reject(c, err)
		c.Close()
	}
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
