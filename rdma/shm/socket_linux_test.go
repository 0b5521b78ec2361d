package shm

import (
	"net"
	"path/filepath"
	"testing"
)

// A connection whose other side sleeps has a wake-up for each request.
func TestWakeUpsDoNotAllocate(t *testing.T) {
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.DialUnix("unixpacket", nil, l.Addr().(*net.UnixAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
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
