package server

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/wire"
)

// The server's end of plain sockets. A client may rest between requests without a
// time limit, since it then holds no more than its request buffer (tcpwork.go); the
// number of clients is bounded (streambounds.go). But a request that the client began
// must arrive, and an answer must be taken, in time:
//
//	a request   as a frame (limits.FrameTimeout)
//	an answer   limits.StallTimeout for each chunk; up to twice that if it is no
//	            larger than a chunk (tcpwriter.go)

// requestBuffer holds any request, so that reading one needs no other memory: all
// requests take clients times this.
const requestBuffer = 16 << 10

// A request must fit.
const _ = uint(requestBuffer - wire.MaxRequest)

// errStalled: a client began a request and did not complete it, or did not take
// its answer, at the least rate.
var errStalled = errors.New("client is too slow")

// serveTCP answers one plain-socket connection until it ends.
func (s *Server) serveTCP(c net.Conn) {
	defer c.Close()
	if !s.track(c) {
		return
	}
	defer s.untrack(c)
	account := s.budgets.answers.Open(limits.SourceOf(c.RemoteAddr()), func(error) { c.Close() })
	in, out, peer := newRequestReader(c), newPacedWriter(c), &peer{name: func() string { return c.RemoteAddr().String() }, client: s.RecordClient()}
	if counted, ok := c.(*countedConn); ok && counted.guard != nil {
		peer.guard = counted.guard
		defer peer.guard.principal.OnEnd(func() { c.Close() })()
	}
	defer peer.close(s)
	late := newSocketAnswers(c, out, account)
	var w *tcpWork // nil while no request is waiting
	mine := false  // whether w owns the socket (tcplater.go)
	for {
		kind, id, p, err := in.next()
		if err == nil {
			s.tcpRequests.Add(1)
			if w == nil {
				w = s.takeWork(out, peer, account)
			}
			// The answers to pipelined requests share one system call.
			last := !in.more()
			err = w.answer(kind, id, p, last)
			mine = w.to.owned
			if last {
				s.putWork(w)
				w = nil
			}
		}
		if err != nil {
			if why := late.end(mine); why != nil {
				err = why // the reason why reading ended
			}
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				s.log.Warn("connection ended", "transport", model.TransportTCP, "peer", c.RemoteAddr(), "err", err)
			}
			return
		}
	}
}

// requestReader reads requests with deadlines.
type requestReader struct {
	c   net.Conn
	r   *bufio.Reader
	buf []byte
}

func newRequestReader(c net.Conn) *requestReader {
	return &requestReader{c: c, r: bufio.NewReaderSize(c, requestBuffer)}
}

// more reports whether next would not wait.
func (q *requestReader) more() bool { return q.r.Buffered() >= q.size() }

// next returns the next request, whose payload is valid until the next call.
// It waits for the first byte without limit. It sets deadlines only for requests
// that arrive in pieces: most come whole.
func (q *requestReader) next() (kind fastmsg.Kind, id uint64, payload []byte, err error) {
	if _, err := q.r.Peek(1); err != nil {
		return 0, 0, nil, err
	}
	timed, begun := false, time.Time{}
	if q.r.Buffered() < q.size() {
		timed, begun = true, time.Now()
		err = q.c.SetReadDeadline(begun.Add(limits.FrameTimeout + limits.TransferTime(wire.MaxRequest)))
	}
	if err == nil {
		kind, id, q.buf, err = wire.ReadFrame(q.r, q.buf, wire.MaxRequest)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w: request not completed within %v", errStalled, time.Since(begun).Round(time.Millisecond))
	}
	if timed && err == nil {
		err = q.c.SetReadDeadline(time.Time{})
	}
	return kind, id, q.buf, err
}

// size is how many bytes of the present request must arrive before next can
// continue: its header, or the whole request.
func (q *requestReader) size() int {
	if q.r.Buffered() < wire.FrameBytes {
		return wire.FrameBytes
	}
	head, _ := q.r.Peek(wire.FrameBytes)
	return int(min(binary.LittleEndian.Uint32(head), wire.MaxRequest))
}
