package netns

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// namespaces is where ip keeps them by name.
const namespaces = "/run/netns"

// Dial connects to an address as a process in namespace i does. A socket stays in the namespace of
// the thread that has made it.
func (s *Switch) Dial(ctx context.Context, i int, addr string) (net.Conn, error) {
	type dialed struct {
		c   net.Conn
		err error
	}
	done := make(chan dialed, 1)
	go func() {
		runtime.LockOSThread() // It ends with the goroutine, unless it is back.
		here, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			done <- dialed{err: err}
			return
		}
		defer unix.Close(here)
		there, err := unix.Open(filepath.Join(namespaces, s.Namespace(i)), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(there, unix.CLONE_NEWNET)
			_ = unix.Close(there)
		}
		if err != nil {
			done <- dialed{err: err}
			return
		}
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if unix.Setns(here, unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
		done <- dialed{c, err}
	}()
	d := <-done
	if d.err != nil {
		return nil, fmt.Errorf("netns: %s from namespace %d: %w", addr, i, d.err)
	}
	return d.c, nil
}
