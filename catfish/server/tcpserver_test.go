package server

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

// socketServer serves one pipe as a plain socket, without collections.
func socketServer(t *testing.T) (c net.Conn, log *catfishtest.LogLines, ended chan struct{}) {
	log, ended = &catfishtest.LogLines{}, make(chan struct{})
	s := &Server{store: new(store.Store), tcpConns: map[net.Conn]bool{}, log: log.Logger()}
	c, end := net.Pipe()
	t.Cleanup(func() { c.Close() })
	go func() {
		defer close(ended)
		s.serveTCP(end)
	}()
	return c, log, ended
}

// TestSlowRequest: a client may rest between requests, but not within one,
// wherever it stops.
func TestSlowRequest(t *testing.T) {
	request := wire.AppendFrame(nil, wire.KindCheck, 7, wire.AppendHead(nil, 0, 0))
	for _, stop := range []int{1, wire.FrameBytes - 1, wire.FrameBytes, wire.FrameBytes + 1} {
		t.Run(fmt.Sprintf("stop=%d", stop), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, log, ended := socketServer(t)
				r := bufio.NewReader(c)
				for range 2 {
					if _, err := c.Write(request); err != nil {
						t.Fatal(err)
					}
					if kind, id, _, err := wire.ReadFrame(r, nil, wire.MaxReply); err != nil || id != 7 || kind != wire.KindFailure {
						t.Fatalf("answer of kind %d to %d: %v", kind, id, err)
					}
					<-time.After(time.Hour)
				}
				// The request comes in pieces, but in time.
				for i := range request {
					if _, err := c.Write(request[i : i+1]); err != nil {
						t.Fatal(err)
					}
					<-time.After(limits.FrameTimeout / time.Duration(2*len(request)))
				}
				if _, id, _, err := wire.ReadFrame(r, nil, wire.MaxReply); err != nil || id != 7 {
					t.Fatalf("answer to %d: %v", id, err)
				}
				if _, err := c.Write(request[:stop]); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				<-ended
				if took := time.Since(start); took > limits.FrameTimeout+time.Second {
					t.Errorf("ended after %v", took)
				}
				if !strings.Contains(log.String(), "request not completed") {
					t.Errorf("the log says %q", log)
				}
			})
		})
	}
}

// TestUnreadSocket: a client that sends requests and does not read loses its connection.
func TestUnreadSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, log, ended := socketServer(t)
		start := time.Now()
		for {
			if _, err := c.Write(wire.AppendFrame(nil, wire.KindCheck, 7, wire.AppendHead(nil, 0, 0))); err != nil {
				break
			}
		}
		<-ended
		if took := time.Since(start); took > 2*limits.StallTimeout {
			t.Errorf("ended after %v", took)
		}
		if !strings.Contains(log.String(), errStalled.Error()) {
			t.Errorf("the log says %q", log)
		}
	})
}

// TestSlowSocket: a large answer that is taken more slowly than limits.LeastRate ends
// the connection in time, although the client takes some bytes in each limits.StallTimeout;
// an answer that is taken at limits.LeastRate arrives.
func TestSlowSocket(t *testing.T) {
	const size = 4 << 20
	for _, rate := range []int{limits.LeastRate / 2, 2 * limits.LeastRate} {
		t.Run(fmt.Sprintf("rate=%d", rate), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, end := net.Pipe()
				defer c.Close()
				wrote := make(chan error, 1)
				start := time.Now()
				go func() {
					wrote <- newAnswerWriter(&pacedWriter{c: end}).write(wire.KindReply, 1, make([]byte, size), true)
					end.Close()
				}()
				got, b := 0, make([]byte, rate/10)
				for {
					n, err := c.Read(b)
					if got += n; err != nil {
						break
					}
					<-time.After(100 * time.Millisecond)
				}
				err := <-wrote
				if rate > limits.LeastRate {
					if err != nil || got != size+wire.FrameBytes {
						t.Fatalf("%d bytes, %v", got, err)
					}
					return
				}
				if took := time.Since(start); !errors.Is(err, errStalled) || took > 2*limits.StallTimeout+limits.TransferTime(size) {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

// TestShortAnswers: a deadline is not set for each answer, but always exists.
func TestShortAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deadlines{}
		w := newAnswerWriter(&pacedWriter{c: d})
		const n, every = 1000, 100 * time.Millisecond
		for range n {
			if err := w.write(fastmsg.Kind(wire.KindReply), 1, make([]byte, 40), true); err != nil {
				t.Fatal(err)
			}
			if left := time.Until(d.by); left < limits.StallTimeout || left > 2*limits.StallTimeout {
				t.Fatalf("a deadline in %v", left)
			}
			<-time.After(every)
		}
		if most := int(n*every/limits.StallTimeout) + 1; d.set > most {
			t.Errorf("%d deadlines were set for %d answers, want at most %d", d.set, n, most)
		}
	})
}

type deadlines struct {
	net.Conn
	by  time.Time
	set int
}

func (d *deadlines) Write(b []byte) (int, error) { return len(b), nil }

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.by, d.set = t, d.set+1
	return nil
}
