package client

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/shm"
	"github.com/catfish-index/catfish/internal/wire"
)

var (
	asUser = catfishtest.AsUser
	openUp = catfishtest.OpenUp
	place  = catfishtest.Place
)

const stranger = catfishtest.Stranger

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
		if err := wire.TrustedServer(tc.uid, 1000, tc.server); (err == nil) != tc.want || err != nil && !errors.Is(err, model.ErrTransport) {
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
