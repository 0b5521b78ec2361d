package micro

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/catfish-index/catfish/internal/rdmaprobe"
)

// A connection begins with the size of each answer, a little-endian u32. Then
// each request is one byte, b, and its answer the bytes from the b-th on of
// those that both sides know: so an answer to another request is detected.
const shifts = 256

// known returns the bytes from which answers are taken.
func known(largest int) []byte {
	b := make([]byte, largest+shifts)
	rdmaprobe.Fill(b, initial)
	return b
}

// answerer is the server, with a goroutine for each connection.
type answerer struct {
	ln    net.Listener
	bytes []byte
}

func listen(ctx context.Context, job serverJob) (*answerer, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", job.Listen)
	if err != nil {
		return nil, fmt.Errorf("micro: %w", err)
	}
	a := &answerer{ln: ln, bytes: known(job.Bytes)}
	go func() {
		for {
			c, err := ln.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				go a.serve(c)
			}
		}
	}()
	return a, nil
}

func (a *answerer) addr() string { return a.ln.Addr().String() }
func (a *answerer) close()       { _ = a.ln.Close() }

// serve ends with the connection, or at an invalid request.
func (a *answerer) serve(c net.Conn) {
	defer c.Close()
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return
	}
	size := binary.LittleEndian.Uint32(head[:])
	if uint64(size) > uint64(len(a.bytes)-shifts) {
		return
	}
	for {
		if _, err := io.ReadFull(c, head[:1]); err != nil {
			return
		}
		at := int(head[0])
		if _, err := c.Write(a.bytes[at : at+int(size)]); err != nil {
			return
		}
	}
}

// socket is the client.
type socket struct {
	job   clientJob
	bytes []byte
	conn  net.Conn
	asks  [1]byte
	buf   []byte
	stop  func() bool
}

func newSocket(job clientJob) *socket { return &socket{job: job, bytes: known(job.Bytes)} }

// begin connects again: one connection for each run.
func (s *socket) begin(ctx context.Context, size int, seed uint64) (err error) {
	s.close()
	d := net.Dialer{Timeout: s.job.Patience}
	if s.conn, err = d.DialContext(ctx, "tcp", s.job.Addr); err != nil {
		return fmt.Errorf("micro: %w", err)
	}
	conn := s.conn
	s.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	// One deadline for all, since setting it costs as much as a small part of
	// a request.
	s.conn.SetDeadline(time.Now().Add(2*s.job.Duration + (2*least+1)*s.job.Patience))
	s.asks[0], s.buf = byte(seed), make([]byte, size)
	if _, err := s.conn.Write(binary.LittleEndian.AppendUint32(nil, uint32(size))); err != nil {
		return fmt.Errorf("micro: %w", err)
	}
	return nil
}

func (s *socket) ways() int { return 1 }

func (s *socket) request(context.Context) error {
	s.asks[0]++
	if _, err := s.conn.Write(s.asks[:]); err != nil {
		return fmt.Errorf("micro: %w", err)
	}
	if _, err := io.ReadFull(s.conn, s.buf); err != nil {
		return fmt.Errorf("micro: answer: %w", err)
	}
	return nil
}

// end compares the last answer.
func (s *socket) end(context.Context) error {
	at := int(s.asks[0])
	return rdmaprobe.Compare(s.buf, s.bytes[at:at+len(s.buf)], len(s.buf), len(s.buf))
}

func (s *socket) device() string {
	return "TCP of the operating system"
}

func (s *socket) spun() time.Duration { return 0 }

func (s *socket) close() {
	if s.conn != nil {
		s.stop()
		_ = s.conn.Close()
	}
}
