package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/direct"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/wire"
)

// answerWriter sends answers with deadlines. It can be reused for another
// connection.
type answerWriter struct {
	w     *bufio.Writer
	paced *pacedWriter
	head  []byte
	owned bool // the writer owns the socket (tcplater.go), while it keeps any bytes
}

func newAnswerWriter(p *pacedWriter) *answerWriter {
	return &answerWriter{w: bufio.NewWriterSize(p, 64<<10), paced: p}
}

// reset makes p the connection to write to, nil: none.
func (a *answerWriter) reset(p *pacedWriter) {
	a.paced, a.owned = p, false
	if p == nil {
		a.w.Reset(io.Discard) // keep nothing of the connection
		return
	}
	a.w.Reset(p)
}

// write sends an answer, or keeps it for the next flush if flush is false.
func (a *answerWriter) write(kind fastmsg.Kind, id uint64, answer []byte, flush bool) error {
	a.begin(kind, id, len(answer))
	return a.more(answer, flush)
}

// begin begins an answer of n bytes, which calls of more must write.
func (a *answerWriter) begin(kind fastmsg.Kind, id uint64, n int) {
	if !a.owned {
		a.paced.answers.own()
		a.owned = true
	}
	a.head = wire.AppendFrameHead(a.head[:0], kind, id, n)
	_, _ = a.w.Write(a.head) // bufio returns its first error again
}

func (a *answerWriter) more(answer []byte, flush bool) error {
	_, err := a.w.Write(answer)
	if err == nil && flush {
		err = a.flush()
	}
	return err
}

// flush sends the answers that were kept, and the replies that came meanwhile.
func (a *answerWriter) flush() error {
	if !a.owned {
		return nil // nothing was kept
	}
	_, _ = a.w.Write(a.paced.answers.take())
	err := a.w.Flush()
	if err == nil {
		a.paced.done()
		a.owned = false
		a.paced.answers.disown()
	}
	return err
}

// push sends a part of an answer, and the answers that were kept before it. After
// the last part, flush gives up the socket.
func (a *answerWriter) push(part []byte) error {
	_, err := a.w.Write(part)
	if err == nil {
		err = a.w.Flush()
	}
	return err
}

// pacedWriter gives a peer time to take the bytes written: limits.StallTimeout for each
// chunk, and limits.LeastRate for all bytes up to done, in any number of writes. Only
// time in writes counts, not the time in which an answer is made. The owner of
// the socket uses it (tcplater.go).
type pacedWriter struct {
	c     net.Conn
	by    time.Time     // the present deadline
	late  time.Duration // by how much the peer took longer than at limits.LeastRate
	taken int           // since done

	direct  *direct.Writer // nil: c cannot send without waiting
	answers *socketAnswers // nil: there are no replies
}

func newPacedWriter(c net.Conn) *pacedWriter { return &pacedWriter{c: c, direct: direct.New(c)} }

// try sends the bytes that the socket has room for, and returns their number.
func (p *pacedWriter) try(b []byte) (n int) {
	if p.direct == nil {
		return 0
	}
	n, _ = p.direct.Try(b) // Write will return the error again.
	p.taken += n
	p.late = max(p.late-limits.TransferTime(n), 0)
	return n
}

// done says that the peer has taken all bytes.
func (p *pacedWriter) done() { p.late, p.taken = 0, 0 }

func (p *pacedWriter) Write(b []byte) (n int, err error) {
	now := time.Now()
	for n < len(b) && err == nil {
		k := min(len(b)-n, limits.WriteChunk)
		begun := now
		if err = p.allow(now, k, len(b) <= limits.WriteChunk); err != nil {
			break
		}
		k, err = p.c.Write(b[n : n+k])
		n += k
		p.taken += k
		now = time.Now()
		// No more than limits.StallTimeout: time in which this process was stopped must
		// not count against the peer.
		p.late = min(max(p.late+now.Sub(begun)-limits.TransferTime(k), 0), limits.StallTimeout)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w: took %d bytes of answers, %d more wait, want %d bytes a second",
			errStalled, p.taken, len(b)-n, limits.LeastRate)
	}
	return n, err
}

// leastAllowed is the time that any write may take: that of a second's bytes at
// limits.LeastRate.
const leastAllowed = time.Second

// allow sets the deadline for k bytes. For a short write to a peer that is not
// late, a deadline up to limits.StallTimeout too late is good enough, and saves setting
// one for each answer.
func (p *pacedWriter) allow(now time.Time, k int, short bool) error {
	by := now.Add(min(limits.StallTimeout, limits.StallTimeout-p.late+max(leastAllowed, limits.TransferTime(k))))
	if short && p.late == 0 {
		if !p.by.Before(by) && p.by.Before(by.Add(limits.StallTimeout)) {
			return nil
		}
		by = by.Add(limits.StallTimeout)
	}
	p.by = by
	return p.c.SetWriteDeadline(by)
}
