package catfish

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/rdma/budget"
)

// The server's end of plain sockets. A client may rest for as long as it likes
// between requests, since it then holds no more than its buffers; the number
// of clients is bounded (streambounds.go). But a request that it began must
// arrive, and an answer must be taken, in time:
//
//	a request   requestTimeout, and its bytes at leastRate
//	an answer   stallTimeout for each writeChunk, and all of it at leastRate;
//	            up to twice stallTimeout if it is no larger than a chunk
const (
	// requestTimeout and stallTimeout are package soft's for frames and for
	// peers that do not read; leastRate, in bytes per second, too.
	requestTimeout = 5 * time.Second
	stallTimeout   = 10 * time.Second
	leastRate      = 64 << 10
	// writeChunk is what is passed to the socket at once.
	writeChunk = 256 << 10
	// requestBuffer holds any request, so that reading one needs no memory
	// besides: clients times this is what all requests take.
	requestBuffer = 16 << 10
)

// A request must fit.
const _ = uint(requestBuffer - maxRequest)

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
	v := service{s: s, transport: TransportTCP, via: querylog.ViaTCP, peer: tcpPeer{c}}
	if s.rec != nil {
		v.client = s.rec.Client()
	}
	account := tcpAccount{s.budgets.answers.Open(budget.SourceOf(c.RemoteAddr()), func(error) { c.Close() })}
	defer account.Close()
	in, out := newRequestReader(c), newAnswerWriter(c)
	for {
		kind, id, p, err := in.next()
		if err == nil {
			s.tcpRequests.Add(1)
			// The answers to pipelined requests share one system call.
			err = v.answerTCP(out, kind, id, p, account, !in.more())
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				s.log.Warn("connection ended", "transport", TransportTCP, "peer", c.RemoteAddr(), "err", err)
			}
			return
		}
	}
}

// answerTCP makes and sends an answer. An error means that the connection is
// lost.
func (v *service) answerTCP(w *answerWriter, kind fastmsg.Kind, id uint64, p []byte, h holder, flush bool) error {
	kind, answer, rest := v.process(kind, p)
	if rest == nil {
		kind, answer = fitReply(kind, answer)
		err := w.write(kind, id, answer, flush)
		v.trim()
		return err
	}
	defer rest.end(h)
	if err := v.s.search(v.source(), rest, h); err != nil {
		return w.write(kindFailure, id, appendFailure(nil, err, 0), flush)
	}
	v.recordRead(&rest.req, rest.scan.Count())
	w.begin(kindReply, id, rest.bytes())
	for last := false; !last; {
		v.out, last = rest.piece(h, v.out[:0])
		if err := w.more(v.out, last && flush); err != nil {
			return err
		}
	}
	return nil
}

// tcpAccount is what a plain socket holds.
type tcpAccount struct{ *budget.Account }

func (a tcpAccount) Hold(n int64) error { return a.Take(n) }
func (a tcpAccount) Unhold(n int64)     { a.Give(n) }

// requestReader reads requests in time.
type requestReader struct {
	c   net.Conn
	r   *bufio.Reader
	buf []byte
}

func newRequestReader(c net.Conn) *requestReader {
	return &requestReader{c: c, r: bufio.NewReaderSize(c, requestBuffer)}
}

// more reports whether a request has begun to arrive.
func (q *requestReader) more() bool { return q.r.Buffered() >= frameBytes }

// next returns the next request, whose payload is valid until the next call.
// It waits for the first byte without end. Deadlines are set for requests that
// arrive in pieces only: most come whole.
func (q *requestReader) next() (kind fastmsg.Kind, id uint64, payload []byte, err error) {
	if _, err := q.r.Peek(1); err != nil {
		return 0, 0, nil, err
	}
	timed, begun := false, time.Time{}
	if q.r.Buffered() < q.size() {
		timed, begun = true, time.Now()
		err = q.c.SetReadDeadline(begun.Add(requestTimeout + transferTime(maxRequest)))
	}
	if err == nil {
		kind, id, q.buf, err = readFrame(q.r, q.buf, maxRequest)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w: request not completed within %v", errStalled, time.Since(begun).Round(time.Millisecond))
	}
	if timed && err == nil {
		err = q.c.SetReadDeadline(time.Time{})
	}
	return kind, id, q.buf, err
}

// size is what has to arrive of the present request before anything is known
// to be missing: its header, or all of it.
func (q *requestReader) size() int {
	if q.r.Buffered() < frameBytes {
		return frameBytes
	}
	head, _ := q.r.Peek(frameBytes)
	return int(min(binary.LittleEndian.Uint32(head), maxRequest))
}

// answerWriter sends answers in time.
type answerWriter struct {
	w    *bufio.Writer
	head []byte
}

func newAnswerWriter(c net.Conn) *answerWriter {
	return &answerWriter{w: bufio.NewWriterSize(&pacedWriter{c: c}, 64<<10)}
}

// write sends an answer, or keeps it for the next if flush is false.
func (a *answerWriter) write(kind fastmsg.Kind, id uint64, answer []byte, flush bool) error {
	a.begin(kind, id, len(answer))
	return a.more(answer, flush)
}

// begin begins an answer of n bytes, which more has to write.
func (a *answerWriter) begin(kind fastmsg.Kind, id uint64, n int) {
	a.head = appendFrameHead(a.head[:0], kind, id, n)
	_, _ = a.w.Write(a.head) // bufio returns its first error again
}

func (a *answerWriter) more(answer []byte, flush bool) error {
	_, err := a.w.Write(answer)
	if err == nil && flush {
		err = a.w.Flush()
	}
	return err
}

// pacedWriter gives a peer time to take what is written: stallTimeout for each
// chunk, and leastRate for all.
type pacedWriter struct {
	c  net.Conn
	by time.Time // the present deadline
}

func (p *pacedWriter) Write(b []byte) (n int, err error) {
	begun := time.Now()
	end := begun.Add(stallTimeout + transferTime(len(b)))
	for n < len(b) && err == nil {
		k := min(len(b)-n, writeChunk)
		if err = p.allow(time.Now(), end, len(b) <= writeChunk); err != nil {
			break
		}
		k, err = p.c.Write(b[n : n+k])
		n += k
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w: took %d of %d bytes of answers in %v, want %d bytes a second",
			errStalled, n, len(b), time.Since(begun).Round(time.Millisecond), leastRate)
	}
	return n, err
}

// allow sets the deadline. For a short write one that is up to stallTimeout
// late is good enough, and saves setting it for each answer.
func (p *pacedWriter) allow(now, end time.Time, short bool) error {
	by := now.Add(stallTimeout)
	if end.Before(by) {
		by = end
	}
	if short {
		if !p.by.Before(by) && p.by.Before(by.Add(stallTimeout)) {
			return nil
		}
		by = by.Add(stallTimeout)
	}
	p.by = by
	return p.c.SetWriteDeadline(by)
}

// transferTime is what n bytes take at leastRate.
func transferTime(n int) time.Duration {
	return time.Duration(n) * time.Second / leastRate
}
