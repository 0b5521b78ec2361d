package shm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/internal/rdma"
)

// greetTimeout bounds the time until a connection has sent its hello, which
// every dialer does at once.
const greetTimeout = 2 * time.Second

// listener waits at a unix socket.
type listener struct {
	dev  *device
	addr string
	ln   *net.UnixListener
	file fs.FileInfo // the socket's, so that no other file is removed

	requests  chan *connRequest
	ctx       context.Context // done once the listener is closed
	end       context.CancelFunc
	closeOnce sync.Once
	wg        sync.WaitGroup
}

// Listen makes a socket at the path addr with the mode of Options. A socket
// on which no process listens any more is replaced; one in use is an error
// that wraps syscall.EADDRINUSE.
func (d *device) Listen(addr string) (rdma.Listener, error) {
	if err := checkPath(addr); err != nil {
		return nil, err
	}
	l := &listener{dev: d, addr: addr, requests: make(chan *connRequest)}
	if err := l.bind(); err != nil {
		return nil, fmt.Errorf("shm: listen at %s: %w", addr, err)
	}
	l.ctx, l.end = context.WithCancel(d.ctx)
	d.mu.Lock()
	closed := d.closed
	if !closed {
		d.listeners[l] = struct{}{}
		l.wg.Go(l.acceptLoop)
	}
	d.mu.Unlock()
	if closed {
		l.end()
		l.unbind()
		return nil, rdma.ErrClosed
	}
	return l, nil
}

// bind holds a lock on the directory, so that of two servers that find the
// same stale socket only one replaces it.
func (l *listener) bind() error {
	dir, err := os.Open(filepath.Dir(l.addr))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock the directory: %w", err)
	}
	if err := removeStale(l.addr); err != nil {
		return err
	}
	mode := l.dev.opt.SocketMode
	// The mode is set before the file exists: the kernel gives it the
	// socket's mode, less the umask, which the second call undoes.
	cfg := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if e := c.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), uint32(mode)) }); e != nil {
			return e
		}
		return err
	}}
	ln, err := cfg.Listen(context.Background(), "unixpacket", l.addr)
	if err != nil {
		return err
	}
	l.ln = ln.(*net.UnixListener)
	l.ln.SetUnlinkOnClose(false)
	if err := os.Chmod(l.addr, mode); err != nil {
		l.unbind()
		return err
	}
	if l.file, err = os.Lstat(l.addr); err != nil {
		l.unbind()
		return err
	}
	return nil
}

// removeStale removes the old socket, if it is dead, for a new one.
func removeStale(addr string) error {
	info, err := os.Lstat(addr)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%w: a file that is not a socket is there", syscall.EADDRINUSE)
	}
	c, err := net.DialTimeout("unixpacket", addr, greetTimeout)
	if err == nil {
		_ = c.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: a server is listening there", syscall.EADDRINUSE)
	}
	return os.Remove(addr)
}

// unbind closes the socket and removes its file, if it still is ours.
func (l *listener) unbind() {
	_ = l.ln.Close()
	if now, err := os.Lstat(l.addr); err == nil && (l.file == nil || os.SameFile(now, l.file)) {
		_ = os.Remove(l.addr)
	}
}

func (l *listener) acceptLoop() {
	for {
		c, err := l.ln.AcceptUnix()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of descriptors or memory: others may release some.
			select {
			case <-l.ctx.Done():
				return
			case <-time.After(acceptPause):
			}
			continue
		}
		n, err := l.welcome(c)
		if err != nil {
			_ = c.Close()
			continue
		}
		l.wg.Go(func() {
			if r := n.greet(); r != nil {
				l.offer(r)
			}
		})
	}
}

// acceptPause is the pause after a failed accept, as in net/http.
const acceptPause = 5 * time.Millisecond

// offer passes a request to Accept.
func (l *listener) offer(r *connRequest) {
	select {
	case l.requests <- r:
	case <-l.ctx.Done():
		_ = r.Reject("the listener was closed")
	}
}

func (l *listener) Accept(ctx context.Context) (rdma.ConnRequest, error) {
	if l.ctx.Err() != nil {
		return nil, rdma.ErrClosed
	}
	select {
	case r := <-l.requests:
		return r, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.ctx.Done():
		return nil, rdma.ErrClosed
	}
}

func (l *listener) Addr() string { return l.addr }

// Close ends Accept, refuses the waiting dialers, and removes the socket.
func (l *listener) Close() error {
	l.closeOnce.Do(func() {
		l.end()
		l.unbind()
		l.wg.Wait()
		l.dev.mu.Lock()
		delete(l.dev.listeners, l)
		l.dev.mu.Unlock()
	})
	return nil
}
