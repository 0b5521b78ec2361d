package certs

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/certs/certstest"
)

// handshake connects a client to a server, and returns the server's certificate's
// number and why either side refused. The client writes first, since with TLS 1.3
// a server that refuses a client's certificate does so after the client is done.
func handshake(t *testing.T, server, client *tls.Config) (serial int64, err error) {
	t.Helper()
	// Not net.Pipe: there a server that refuses waits for a client that writes.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan error, 1)
	go func() {
		b, err := l.Accept()
		if err == nil {
			c := tls.Server(b, server)
			_, err = io.ReadFull(c, make([]byte, 1))
			c.Close()
		}
		done <- err
	}()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a.SetDeadline(time.Now().Add(time.Minute))
	cfg := client.Clone()
	cfg.ServerName = "localhost"
	c := tls.Client(a, cfg)
	if _, err = c.Write([]byte{1}); err == nil {
		_, err = io.ReadAll(c)
	}
	if st := c.ConnectionState(); len(st.PeerCertificates) > 0 {
		serial = st.PeerCertificates[0].SerialNumber.Int64()
	}
	a.Close()
	return serial, errors.Join(err, <-done)
}

func client(t *testing.T, ca, cert, key string) *tls.Config {
	t.Helper()
	c, err := Client(ca, cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func TestServer(t *testing.T) {
	dir := t.TempDir()
	ca, other := certstest.NewCA(t, dir, "ca"), certstest.NewCA(t, dir, "other")
	cert, key := ca.Issue(t, "server", 1)
	s, err := NewServer(Files{Cert: cert, Key: key}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	config := s.Config()
	if n, err := handshake(t, config, client(t, ca.File, "", "")); err != nil || n != 1 {
		t.Errorf("certificate %d, %v", n, err)
	}
	if _, err := handshake(t, config, client(t, other.File, "", "")); err == nil {
		t.Error("a client trusted a certificate of another root")
	}
	// The certificate is replaced, first by one without its key.
	next, nextKey := ca.Issue(t, "next", 2)
	rename(t, next, cert)
	s.Poll()
	if n, err := handshake(t, config, client(t, ca.File, "", "")); err != nil || n != 1 {
		t.Errorf("with half of a new one: certificate %d, %v", n, err)
	}
	rename(t, nextKey, key)
	s.Poll()
	if n, err := handshake(t, config, client(t, ca.File, "", "")); err != nil || n != 2 {
		t.Errorf("after a change: certificate %d, %v", n, err)
	}
	if until := time.Until(s.Expires()); until < time.Minute {
		t.Errorf("expires in %v", until)
	}
}

func TestClientCertificates(t *testing.T) {
	dir := t.TempDir()
	ca, clients, other := certstest.NewCA(t, dir, "ca"), certstest.NewCA(t, dir, "clients"), certstest.NewCA(t, dir, "other")
	cert, key := ca.Issue(t, "server", 1)
	s, err := NewServer(Files{Cert: cert, Key: key, ClientCA: clients.File}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	good, goodKey := clients.Issue(t, "good", 3)
	bad, badKey := other.Issue(t, "bad", 4)
	if _, err := handshake(t, s.Config(), client(t, ca.File, good, goodKey)); err != nil {
		t.Errorf("a client with a certificate: %v", err)
	}
	if _, err := handshake(t, s.Config(), client(t, ca.File, "", "")); err == nil {
		t.Error("a client without a certificate was served")
	}
	if _, err := handshake(t, s.Config(), client(t, ca.File, bad, badKey)); err == nil {
		t.Error("a client with another root's certificate was served")
	}
	// Another root for clients ends the trust in the first one.
	rename(t, other.File, clients.File)
	s.Poll()
	if _, err := handshake(t, s.Config(), client(t, ca.File, good, goodKey)); err == nil {
		t.Error("a client of the root before was served")
	}
	if _, err := handshake(t, s.Config(), client(t, ca.File, bad, badKey)); err != nil {
		t.Errorf("a client of the new root: %v", err)
	}
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	ca := certstest.NewCA(t, dir, "ca")
	cert, key := ca.Issue(t, "server", 1)
	_, otherKey := ca.Issue(t, "other", 2)
	none := filepath.Join(dir, "none")
	for _, f := range []Files{
		{Cert: none, Key: key}, {Cert: cert, Key: none}, {Cert: cert, Key: otherKey},
		{Cert: cert, Key: key, ClientCA: none}, {Cert: cert, Key: key, ClientCA: key}, {Cert: cert},
	} {
		if _, err := NewServer(f, quiet()); !errors.Is(err, ErrFile) {
			t.Errorf("%+v: %v, want ErrFile", f, err)
		}
	}
	for _, f := range [][3]string{{none, "", ""}, {key, "", ""}, {"", cert, ""}, {"", cert, otherKey}} {
		if _, err := Client(f[0], f[1], f[2]); !errors.Is(err, ErrFile) {
			t.Errorf("%q: %v, want ErrFile", f, err)
		}
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// Two servers of the same roots know each other, and no others.
func TestPeer(t *testing.T) {
	dir := t.TempDir()
	ca, other := certstest.NewCA(t, dir, "ca"), certstest.NewCA(t, dir, "other")
	server := func(by *certstest.CA, name string, serial int64, roots string) *Server {
		cert, key := by.Issue(t, name, serial)
		s, err := NewServer(Files{cert, key, roots}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b, stranger := server(ca, "a", 1, ca.File), server(ca, "b", 2, ca.File), server(other, "s", 3, other.File)
	open := server(other, "o", 4, "") // takes any client
	if serial, err := handshake(t, a.ConfigFor("p"), b.Peer("localhost", "p")); err != nil || serial != 1 {
		t.Errorf("certificate %d, %v", serial, err)
	}
	for name, c := range map[string]struct{ server, client *tls.Config }{
		"a stranger's certificate": {a.ConfigFor("p"), stranger.Peer("localhost", "p")},
		"a stranger that is asked": {open.ConfigFor("p"), b.Peer("localhost", "p")},
		"no certificate":           {a.ConfigFor("p"), &tls.Config{RootCAs: a.present.Load().ClientCAs, ServerName: "localhost"}},
		"a server of another kind": {a.ConfigFor("h2"), b.Peer("localhost", "p")},
	} {
		if _, err := handshake(t, c.server, c.client); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
