package api

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"
)

// A client that connects, and then sends nothing or stops within its first
// words, does not keep a server from ending.
func TestStopWithSilentConnections(t *testing.T) {
	for name, c := range map[string]struct {
		says string
		stop func(*Server)
	}{
		"silent, gracefully": {"", (*Server).GracefulStop},
		"silent":             {"", (*Server).Stop},
		"stopped":            {"PRI * HT", (*Server).Stop},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewServer(backend{"default": &fake{}})
				l := bufconn.Listen(64 << 10)
				served := make(chan error, 1)
				go func() { served <- s.Serve(l) }()
				conn, err := l.DialContext(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, err := io.WriteString(conn, c.says); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				began := time.Now()
				c.stop(s)
				if err := <-served; err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > 0 {
					t.Errorf("the server has ended after %v", took)
				}
			})
		})
	}
}
