package api

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"

	"github.com/catfish-index/catfish/internal/certs/certstest"
	"github.com/catfish-index/catfish/internal/limits"
)

// oneTurn is a Host with a single scheduling slot.
type oneTurn struct {
	limits.Alone
	begun, active atomic.Int64
}

func (b *oneTurn) RunStep(ctx context.Context, source string, step func()) error {
	return b.Slots.RunStep(ctx, source, func() {
		b.begun.Add(1)
		b.active.Add(1)
		defer b.active.Add(-1)
		step()
	})
}

// testHandshakes calls f in a bubble with the listener of a server with TLS.
func testHandshakes(t *testing.T, f func(t *testing.T, l *bufconn.Listener, b *oneTurn)) {
	t.Helper()
	cert, key := certstest.NewCA(t, t.TempDir(), "ca").Issue(t, "server", 1)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		b := &oneTurn{Alone: limits.Alone{Slots: limits.NewSlots(1)}}
		s := NewServer(trees{"default": treeOf(t)}.on(b), WithTLS(&tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}))
		l := bufconn.Listen(64 << 10)
		served := make(chan error, 1)
		go func() { served <- s.Serve(l) }()
		f(t, l, b)
		s.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
		synctest.Wait()
		if n := b.active.Load(); n != 0 {
			t.Errorf("%d turns are kept at the end", n)
		}
	})
}

// A handshake waits for a scheduling slot, and holds it only while it computes.
// Afterwards calls work as usual.
func TestHandshakesUseSchedulingSlots(t *testing.T) {
	testHandshakes(t, func(t *testing.T, l *bufconn.Listener, b *oneTurn) {
		other, _ := b.Join("other", nil)
		conn, err := grpc.NewClient("passthrough:bufconn",
			grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})), // Identity is not under test.
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		checked := make(chan error, 1)
		go func() {
			_, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
			checked <- err
		}()
		synctest.Wait()
		if n := b.begun.Load(); n != 0 || len(checked) > 0 {
			t.Errorf("%d turns, and %d calls have ended, while another has the turn", n, len(checked))
		}
		other.Leave()
		if err := <-checked; err != nil {
			t.Error(err)
		}
		if begun, active := b.begun.Load(), b.active.Load(); begun != 1 || active != 0 {
			t.Errorf("%d turns, want 1; %d are kept", begun, active)
		}
	})
}

// A stalled client keeps no scheduling slot, and a handshake that gets none ends.
func TestStalledHandshakeKeepsNoSlot(t *testing.T) {
	testHandshakes(t, func(t *testing.T, l *bufconn.Listener, b *oneTurn) {
		raw, err := l.Dial()
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		silent := &saysOnce{Conn: raw}
		go tls.Client(silent, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}).Handshake()
		synctest.Wait()
		if begun, active := b.begun.Load(), b.active.Load(); begun != 1 || active != 0 {
			t.Errorf("%d turns, want 1; %d are kept by a client that says nothing", begun, active)
		}
		other, _ := b.Join("other", nil)
		late, err := l.Dial()
		if err != nil {
			t.Fatal(err)
		}
		defer late.Close()
		if err := tls.Client(late, &tls.Config{InsecureSkipVerify: true}).Handshake(); err == nil {
			t.Error("it had no turn, and ended well")
		}
		other.Leave()
	})
}

// saysOnce is a connection that delivers only its first write.
type saysOnce struct {
	net.Conn
	said atomic.Bool
}

func (c *saysOnce) Write(p []byte) (int, error) {
	if c.said.Swap(true) {
		return len(p), nil
	}
	return c.Conn.Write(p)
}
