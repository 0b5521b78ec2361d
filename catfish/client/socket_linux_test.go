package client

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rdma"
	"github.com/catfish-index/catfish/rdma/shm"
)

// place makes a directory with this mode, whatever the umask.
func place(t *testing.T, mode fs.FileMode) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTrustedServer(t *testing.T) {
	server := uint32(7)
	for _, tc := range []struct {
		uid    uint32
		server *uint32
		want   bool
	}{
		{0, nil, true}, {1000, nil, true}, {7, &server, true}, {1000, &server, true},
		{7, nil, false}, {8, &server, false},
	} {
		if err := trustedServer(tc.uid, 1000, tc.server); (err == nil) != tc.want || err != nil && !errors.Is(err, model.ErrTransport) {
			t.Errorf("uid %d, the server says %v: %v", tc.uid, tc.server, err)
		}
	}
}

// TestHelloNamesTheSocketsUser: the hello names the socket's user, and clients compare.
func TestHelloNamesTheSocketsUser(t *testing.T) {
	s := startServer(t, server.Options{SlabBytes: 1 << 20})
	h, err := wire.AskHello(context.Background(), s.Addr())
	if err != nil || h.UID == nil || *h.UID != uint32(os.Geteuid()) {
		t.Errorf("hello %+v, %v", h, err)
	}
	only := startServer(t, server.Options{SlabBytes: 1 << 20, Transports: []string{model.TransportSoft}})
	if h, err := wire.AskHello(context.Background(), only.Addr()); err != nil || h.UID != nil {
		t.Errorf("without a socket: %+v, %v", h, err)
	}
}

// asUser runs f on a thread of another user, so that the kernel makes that user
// the owner of the sockets that f makes. The thread ends with f.
func asUser(t *testing.T, uid int, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("CATFISH_NO_SKIP") == "1" {
			t.Fatal("needs root, to be another user")
		}
		t.Skip("needs root, to be another user")
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		_, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid))
		if errno == 0 {
			f()
			done <- nil
			return
		}
		done <- errno
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

const stranger = 54321

// TestForeignSocketIsRefused: a client refuses another user's process at the server's socket.
func TestForeignSocketIsRefused(t *testing.T) {
	path := filepath.Join(place(t, 0o777), "s")
	openUp(t, filepath.Dir(path))
	var ln *net.UnixListener
	asUser(t, stranger, func() {
		var err error
		if ln, err = net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"}); err != nil {
			t.Error(err)
		}
	})
	if ln == nil {
		t.FailNow()
	}
	defer ln.Close()
	var trust socketTrust
	me := uint32(os.Geteuid())
	trust.server.Store(&me)
	dev, err := shm.Open(shm.Options{CheckPeer: trust.check})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	cq, err := dev.CreateCQ(1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = dev.Dial(context.Background(), path, rdma.QPConfig{SendCQ: cq, RecvCQ: cq}, nil)
	if !errors.Is(err, model.ErrTransport) || !errors.Is(err, rdma.ErrDial) || !strings.Contains(err.Error(), "uid 54321") {
		t.Errorf("Dial: %v", err)
	}
}

// openUp lets other users enter the directories above a test's.
func openUp(t *testing.T, dir string) {
	t.Helper()
	for d := filepath.Dir(dir); d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}
