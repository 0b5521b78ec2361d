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

// mux shares the server's TCP port: it reads each connection's preamble
// in a goroutine of its own and hands the connection to whom it is for.
type mux struct {
	ln     net.Listener
	hello  func() hello
	tcp    func(net.Conn)
	reject func(net.Conn, error)
	failed func(error) // told when Accept fails
	wg     sync.WaitGroup
	// streams take the connections of transports that are served, by
	// kind. Constant once run is called.
	streams map[uint16]*chanListener

	mu     sync.Mutex
	silent []net.Conn // have not said what for yet, oldest first
}

// maxSilent bounds connections in their first eight bytes, so that silent
// ones cannot use up descriptors. One too many ends the oldest: a client
// of ours says at once what it wants, so floods of silence hit themselves.
const maxSilent = 256

// acceptPause is the pause after a failed accept.
const acceptPause = 50 * time.Millisecond

func newMux(ln net.Listener) *mux { return &mux{ln: ln, streams: make(map[uint16]*chanListener)} }

// arrived notes a connection that has said nothing yet.
func (m *mux) arrived(c net.Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.silent) == maxSilent {
		m.silent[0].Close()
		m.silent = slices.Delete(m.silent, 0, 1)
	}
	m.silent = append(m.silent, c)
}

// spoke ends what arrived began.
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
			// Out of descriptors, mostly: others may give some back.
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
		_ = json.NewEncoder(c).Encode(m.hello()) // the asker may be gone: its loss
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

// chanListener is a net.Listener that is fed connections.
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
