package shm

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestSocketMode(t *testing.T) {
	for _, mode := range []os.FileMode{0, 0o600, 0o660, 0o666} {
		d, err := Open(Options{SocketMode: mode})
		check(t, err)
		path := socketPath(t)
		l, err := d.Listen(path)
		check(t, err)
		info, err := os.Stat(path)
		check(t, err)
		want := mode
		if mode == 0 {
			want = 0o600
		}
		if info.Mode().Perm() != want {
			t.Errorf("SocketMode %v: socket has %v", mode, info.Mode())
		}
		check(t, l.Close())
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is still there: %v", err)
		}
		check(t, d.Close())
	}
	if _, err := Open(Options{SocketMode: os.ModeSetuid | 0o600}); err == nil {
		t.Error("accepted more than permission bits")
	}
}

func TestStaleSocketIsReplaced(t *testing.T) {
	path := socketPath(t)
	ln, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	check(t, err)
	ln.SetUnlinkOnClose(false)
	check(t, ln.Close()) // as a killed server leaves it
	c, s := newSide(t, 64), newSide(t, 64)
	l, err := s.dev.Listen(path)
	check(t, err)
	connect(t, l, c, s)
}

func TestAddressInUse(t *testing.T) {
	s := newSide(t, 64)
	l := listen(t, s)
	if _, err := s.dev.Listen(l.Addr()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a live socket: %v", err)
	}
	file := socketPath(t)
	check(t, os.WriteFile(file, []byte("precious"), 0o600))
	if _, err := s.dev.Listen(file); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a file: %v", err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "precious" {
		t.Errorf("the file was changed: %q, %v", b, err)
	}
}

// Close does not remove a socket that another server has put there.
func TestCloseRemovesOnlyItsOwnSocket(t *testing.T) {
	s := newSide(t, 64)
	l := listen(t, s)
	check(t, os.Remove(l.Addr()))
	other, err := newSide(t, 64).dev.Listen(l.Addr())
	check(t, err)
	check(t, l.Close())
	if _, err := os.Stat(other.Addr()); err != nil {
		t.Errorf("the other's socket is gone: %v", err)
	}
}

func TestBadAddresses(t *testing.T) {
	s := newSide(t, 64)
	for _, addr := range []string{"", "@abstract", "a\x00b", string(make([]byte, 200)), "/does/not/exist/s"} {
		if _, err := s.dev.Listen(addr); err == nil {
			t.Errorf("listens at %q", addr)
		}
	}
}
