package soft

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// logBuffer collects log output.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) has(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), s)
}

func (l *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, nil))
}

// TestDialAnswers simulates listeners that do not answer as soft does.
func TestDialAnswers(t *testing.T) {
	good := hello{recvDepth: 1, sendDepth: 1, verdict: verdictAccept,
		maxRequest: 1, readWindow: 1}
	with := func(at int, v ...byte) []byte {
		b := good.encode()
		copy(b[at:], v)
		return b
	}
	reject := hello{verdict: verdictReject, body: []byte("full up")}
	for _, tc := range []struct {
		name   string
		answer []byte
		is     error
		says   []string
	}{
		{"nothing", nil, rdma.ErrDial, nil},
		{"cut", good.encode()[:20], rdma.ErrDial, nil},
		{"http", []byte("HTTP/1.1 400 Bad Request\r\n"), ErrProtocol, []string{"HTTP"}},
		{"version 7", with(8, 7, 0), rdma.ErrDial, []string{"version 7", "this side 1"}},
		{"no verdict", with(20, 0), ErrProtocol, []string{"verdict"}},
		{"verdict 9", with(20, 9), ErrProtocol, []string{"verdict 9"}},
		{"depth 0", with(12, 0, 0, 0, 0), ErrProtocol, []string{"receive depth 0"}},
		{"huge depth", with(16, 255, 255, 255, 255), ErrProtocol, []string{"send depth"}},
		{"huge window", with(32, 255, 255, 255, 255), ErrProtocol, []string{"read window"}},
		{"long private data", with(10, 57, 0), ErrProtocol, []string{"57", "56"}},
		{"rejected", reject.encode(), rdma.ErrRejected, []string{"full up"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			defer l.Close()
			done := make(chan struct{})
			defer func() { <-done }()
			go func() {
				defer close(done)
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, helloBytes))
				_, _ = conn.Write(tc.answer)
				lingerClose(conn)
			}()
			s := open(t, Options{}, 1)
			_, err = s.dev.Dial(context.Background(), l.Addr().String(), s.config(), nil)
			if !errors.Is(err, tc.is) {
				t.Errorf("got %v, want %v", err, tc.is)
			}
			for _, w := range tc.says {
				if err != nil && !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

// TestAcceptOldVersion: a dialer of another version receives ours, and the
// log names both.
func TestAcceptOldVersion(t *testing.T) {
	var log logBuffer
	s := open(t, Options{Log: log.logger()}, 1)
	l, err := s.dev.Listen("127.0.0.1:0")
	must(t, err)
	conn := dialRaw(t, l.Addr())
	h := append(magic[:len(magic):len(magic)], 42, 0)
	// More than this version's hello has, to be drained before the end.
	_, err = conn.Write(append(h, make([]byte, 200)...))
	must(t, err)
	answer := make([]byte, frozenBytes)
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = conn.Read(answer)
	must(t, err)
	if !bytes.Equal(answer[:8], magic[:]) ||
		binary.LittleEndian.Uint16(answer[8:]) != version {
		t.Errorf("answer % x", answer)
	}
	until(t, "log", func() bool { return log.has("version 42") && log.has("this side 1") })
}

// TestEndlessHandshake: dialers that send nothing, or their hello byte by
// byte, are dropped in time; others are served meanwhile.
func TestEndlessHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newPipes()
		o := net.options(Options{})
		c, s := open(t, o, 64), open(t, o, 64)
		l, err := s.dev.Listen("")
		must(t, err)
		start := time.Now()
		var wg sync.WaitGroup
		for _, every := range []time.Duration{time.Hour, 500 * time.Millisecond} {
			conn, err := net.dial(context.Background(), "")
			must(t, err)
			wg.Go(func() {
				for _, b := range (&hello{}).encode() {
					if _, err := conn.Write([]byte{b}); err != nil {
						break
					}
					_ = conn.SetReadDeadline(time.Now().Add(every))
					_, err := conn.Read(make([]byte, 1)) // nothing comes
					if err != nil && time.Since(start) >= DefaultHandshakeTimeout {
						break
					}
				}
				_ = conn.Close()
				if took := time.Since(start); took > DefaultHandshakeTimeout+every {
					t.Errorf("a handshake lasted %v", took)
				}
			})
		}
		connect(c, s, l)
		if took := time.Since(start); took != 0 {
			t.Errorf("an honest dialer was held up for %v", took)
		}
		wg.Wait()
		c.post(event(1))
		takeOK(t, s.recv, 1)
	})
}

// TestDialSilentListener: Dial ends with its context, or its timeout.
func TestDialSilentListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newPipes()
		c := open(t, net.options(Options{}), 64)
		for _, limit := range []time.Duration{time.Second, time.Hour} {
			accepted := make(chan struct{})
			go func() {
				defer close(accepted)
				conn, err := net.Accept()
				if err != nil {
					return
				}
				for { // reads everything, sends nothing
					if _, err := conn.Read(make([]byte, 100)); err != nil {
						return
					}
				}
			}()
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			start := time.Now()
			_, err := c.dev.Dial(ctx, "", c.config(), nil)
			cancel()
			want := min(limit, DefaultHandshakeTimeout)
			if took := time.Since(start); !errors.Is(err, rdma.ErrDial) ||
				!errors.Is(err, context.DeadlineExceeded) || took != want {
				t.Errorf("after %v, want %v: %v", took, want, err)
			}
			<-accepted
		}
	})
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"MaxRequest":       {MaxRequest: -1},
		"ReadWindow":       {ReadWindow: maxBytes + 1},
		"QueuedBytes":      {QueuedBytes: -5},
		"MaxHandshakes":    {MaxHandshakes: -1},
		"HandshakeTimeout": {HandshakeTimeout: -time.Second},
		"FrameTimeout":     {FrameTimeout: 1},
		"StallTimeout":     {StallTimeout: -1},
		"PeerTimeout":      {PeerTimeout: time.Microsecond},
	} {
		d, err := Open(o)
		if !errors.Is(err, ErrOptions) || d != nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
}
