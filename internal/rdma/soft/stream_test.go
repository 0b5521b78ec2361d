package soft

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// tlsOptions are streams with TLS 1.3 and a certificate made here.
func tlsOptions(t *testing.T) Options {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"soft.test"},
		NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	server := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{
		{Certificate: [][]byte{der}, PrivateKey: key}}}
	client := &tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS13,
		RootCAs: roots, ServerName: "soft.test"}}
	return Options{
		Detail: "TLS",
		Dial: func(ctx context.Context, addr string) (net.Conn, error) {
			return client.DialContext(ctx, "tcp", addr)
		},
		Listen: func(addr string) (net.Listener, error) {
			return tls.Listen("tcp", addr, server)
		},
	}
}

func unixOptions(t *testing.T) Options {
	path := filepath.Join(t.TempDir(), "s")
	return Options{
		Dial: func(context.Context, string) (net.Conn, error) {
			return net.Dial("unix", path)
		},
		Listen: func(string) (net.Listener, error) {
			return net.Listen("unix", path)
		},
	}
}

// thin is a wrapper that sends through its TCP connection unchanged.
type thin struct{ net.Conn }

func (c thin) DirectWriter() *net.TCPConn { return c.Conn.(*net.TCPConn) }

func thinOptions(*testing.T) Options {
	return Options{Dial: func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := dialTCP(ctx, addr)
		if err != nil {
			return nil, err
		}
		return thin{c}, nil
	}}
}

// TestStreams sends every kind of request, short and long, over the kinds of
// streams that a user may supply.
func TestStreams(t *testing.T) {
	for name, options := range map[string]func(*testing.T) Options{
		"tls": tlsOptions, "unix": unixOptions, "thin": thinOptions,
	} {
		t.Run("stream="+name, func(t *testing.T) {
			const size = 3 << 20
			c, s := pairOf(t, options(t), 2*size)
			if direct := c.q.(*queuePair).box.direct != nil; direct != (name != "tls") {
				t.Errorf("non-blocking sends: %v", direct)
			}
			for _, n := range []int{0, 1, 4096, readBuffer, size} {
				clear(s.mem.Bytes())
				clear(c.mem.Bytes())
				pattern(c.mem.Bytes()[:n], byte(n))
				c.post(request(rdma.OpWriteImm, 1, c.mem, 0, n, s.mem, 100),
					request(rdma.OpRead, 2, c.mem, size, n, s.mem, 100))
				if e := takeOK(t, s.recv, 1)[0]; int(e.Bytes) != n {
					t.Errorf("event of %d bytes, want %d", e.Bytes, n)
				}
				takeOK(t, c.send, 2)
				same(t, "what was written", s.mem.Bytes()[100:100+n], c.mem.Bytes()[:n])
				same(t, "what was read", c.mem.Bytes()[size:size+n], c.mem.Bytes()[:n])
			}
			// A NAK arrives although the stream ends right after it.
			c.post(slices.Repeat([]rdma.WorkRequest{
				request(rdma.OpWrite, 3, c.mem, 0, 1<<20, s.mem, 2*size)}, 4)...)
			if e := take(t, c.send, 4)[0]; e.Status != rdma.StatusRemoteBounds {
				t.Errorf("status %q", e.Status)
			}
		})
	}
}

// flaky is a listener that fails at first, as one without free descriptors
// does.
type flaky struct {
	*pipes
	fails atomic.Int32
}

func (f *flaky) Accept() (net.Conn, error) {
	if f.fails.Add(-1) >= 0 {
		return nil, errors.New("no descriptors")
	}
	return f.pipes.Accept()
}

func TestAcceptRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pn := newPipes()
		o := pn.options(Options{})
		f := &flaky{pipes: pn}
		f.fails.Store(3)
		o.Listen = func(string) (net.Listener, error) { return f, nil }
		start := time.Now()
		c, s := pairOf(t, o, 64)
		if took := time.Since(start); took != 35*time.Millisecond { // 5 + 10 + 20
			t.Errorf("served after %v", took)
		}
		c.post(event(1))
		takeOK(t, s.recv, 1)
	})
}
