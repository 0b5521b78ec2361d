package web

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/catfish-index/catfish/internal/certs/certstest"
	"github.com/catfish-index/catfish/internal/limits"
)

// shaking is a TLS server in a bubble, with a host of one scheduling slot.
type shaking struct {
	t *testing.T
	l *pipes
	h *countingHost
}

// certified is config with a certificate.
func certified(t *testing.T, config *tls.Config) *tls.Config {
	cert, key := certstest.NewCA(t, t.TempDir(), "ca").Issue(t, "server", 1)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config
}

func testHandshakes(t *testing.T, config *tls.Config, f func(s *shaking)) {
	config = certified(t, config)
	synctest.Test(t, func(t *testing.T) {
		s := &shaking{t, &pipes{make(chan net.Conn), make(chan struct{})}, &countingHost{Alone: limits.Alone{Slots: limits.NewSlots(1)}}}
		server, err := New(s.h, Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- server.Serve(s.l, config) }()
		f(s)
		server.http.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if n := s.h.active.Load(); n != 0 {
			t.Errorf("%d turns are kept at the end", n)
		}
	})
}

// begin begins the handshake of a client; done receives its result.
func (s *shaking) begin(c net.Conn, config *tls.Config) (client *tls.Conn, done chan error) {
	config.InsecureSkipVerify = true // The server's identity is not tested.
	client, done = tls.Client(c, config), make(chan error, 1)
	go func() { done <- client.Handshake() }()
	return client, done
}

// turnsAre checks the number of slots taken so far, and that none is held.
func (s *shaking) turnsAre(want int64) {
	s.t.Helper()
	synctest.Wait()
	if begun, active := s.h.begun.Load(), s.h.active.Load(); begun != want || active != 0 {
		s.t.Errorf("%d turns, want %d; %d are kept", begun, want, active)
	}
}

// A handshake waits for a scheduling slot, and holds it only while it computes.
func TestHandshakesTakeSlots(t *testing.T) {
	for version, turns := range map[uint16]int64{
		tls.VersionTLS12: 2, // It computes before and after it has the client's key.
		tls.VersionTLS13: 1,
	} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			testHandshakes(t, &tls.Config{MaxVersion: version}, func(s *shaking) {
				other, _ := s.h.Join("other", nil)
				client, done := s.begin(s.l.dial(), &tls.Config{})
				synctest.Wait()
				if len(done) > 0 {
					t.Errorf("it did not wait: %v", <-done)
				}
				other.Leave()
				if err := <-done; err != nil || client.ConnectionState().Version != version {
					t.Errorf("version %x, %v", client.ConnectionState().Version, err)
				}
				s.turnsAre(turns)
				client.Close()
			})
		})
	}
}

// A client that stops in the middle holds no slot.
func TestStalledHandshakeHoldsNoSlot(t *testing.T) {
	testHandshakes(t, &tls.Config{}, func(s *shaking) {
		raw := s.l.dial()
		s.begin(&saysOnce{Conn: raw}, &tls.Config{MinVersion: tls.VersionTLS13})
		s.turnsAre(1)
		raw.Close()
	})
}

// saysOnce is a connection of which only the first write arrives.
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

// After a hello retry request the handshake waits for a slot again. (Not over a pipe:
// both sides write at the same time.)
func TestHandshakeWithRetry(t *testing.T) {
	w := newSite(t, Options{})
	h := &countingHost{Alone: limits.Alone{Slots: limits.NewSlots(1)}}
	w.host = h
	addr := w.serveTCP(t, certified(t, &tls.Config{CurvePreferences: []tls.CurveID{tls.CurveP384}}))
	client, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP384}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if n := h.begun.Load(); !client.ConnectionState().HelloRetryRequest || n < 2 {
		t.Errorf("%d turns; another hello was asked for: %t", n, client.ConnectionState().HelloRetryRequest)
	}
	// The finished handshake has released its slot.
	if err := h.RunStep(t.Context(), "next", func() {}); err != nil {
		t.Error(err)
	}
}

// A handshake that gets no slot ends like one whose client sends nothing.
func TestHandshakeWithoutSlot(t *testing.T) {
	testHandshakes(t, &tls.Config{}, func(s *shaking) {
		other, _ := s.h.Join("other", nil)
		_, done := s.begin(s.l.dial(), &tls.Config{})
		if err := <-done; err == nil {
			t.Error("it had no turn, and ended well")
		}
		other.Leave()
		s.turnsAre(0)
	})
}

// Sessions are resumed, though each handshake has its own configuration.
func TestTLSSessionsAreResumed(t *testing.T) {
	testHandshakes(t, &tls.Config{}, func(s *shaking) {
		cache := tls.NewLRUClientSessionCache(1)
		for i := range 2 {
			client, done := s.begin(s.l.dial(), &tls.Config{ClientSessionCache: cache, ServerName: "localhost"})
			if err := <-done; err != nil || client.ConnectionState().DidResume != (i == 1) {
				t.Errorf("handshake %d: resumed %t, %v", i, client.ConnectionState().DidResume, err)
			}
			ask(t, client, "GET /conformance HTTP/1.1\nHost: x\nConnection: close\n\n")
			if status, _ := answerOf(t, client); status != http.StatusOK { // With it comes the session.
				t.Errorf("handshake %d: %d", i, status)
			}
			client.Close()
		}
	})
}
