package shm

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// socketPair makes the two ends of a control connection.
func socketPair(t *testing.T) (a, b *net.UnixConn) {
	t.Helper()
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.DialUnix("unixpacket", nil, l.Addr().(*net.UnixAddr)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	if b, err = l.AcceptUnix(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return a, b
}

// A process that this one starts gets none of its peers' memory.
func TestReceivedDescriptorsAreClosedOnExec(t *testing.T) {
	a, b := socketPair(t)
	if err := sendMessage(a, []byte{kindAnswer}, int(os.Stdout.Fd())); err != nil {
		t.Fatal(err)
	}
	_, fds, err := receiveMessage(b, make([]byte, maxMessage+1))
	if err != nil || len(fds) != 1 {
		t.Fatalf("%v, %v", fds, err)
	}
	defer closeAll(fds)
	if flags, err := unix.FcntlInt(uintptr(fds[0]), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %#x, %v, want FD_CLOEXEC", flags, err)
	}
}

// A connection whose other side sleeps has a wake-up for each request.
func TestWakeUpsDoNotAllocate(t *testing.T) {
	a, b := socketPair(t)
	out, err := newOutlet(a)
	if err != nil {
		t.Fatal(err)
	}
	in, err := newInlet(b, make([]byte, maxMessage+1))
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		out.sendWake()
		if m, fds, err := in.receive(); len(m) != 1 || m[0] != kindWake || fds != nil || err != nil {
			t.Fatalf("%v, %v, %v", m, fds, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
