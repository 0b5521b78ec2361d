package soft

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/rdma"
)

const (
	// readBuffer holds 15 answers with nodes of 2 KiB; 1,000 connections take
	// 32 MiB. Long payloads bypass it.
	readBuffer = 32 << 10

	// batch is how many completions are pushed at once at most.
	batch = 64
)

// reader is the NIC goroutine of one queue pair.
//
// It decodes frames from buf[r:w] and executes them in order. The results
// (events, completions, acks) are collected and published before each socket
// read, when the input is used up, so that a batch of requests causes one
// wake-up and one send.
type reader struct {
	q    *queuePair
	buf  []byte
	r, w int

	// A frame that has begun to arrive is under a read deadline. Frames
	// are numbered, so that each gets its own.
	timed   bool
	frameNo uint64
	timedNo uint64

	woke time.Duration // when the last socket read ended

	// As target.
	cached   *region // of the last request
	executed uint64
	askedAck bool
	recvs    []rdma.Completion
	arrived  uint64 // WRITE_IMMs
	word     [8]byte

	// As initiator.
	sends []rdma.Completion

	frames, bytes, reads, writes uint64 // since the last publish
}

func newReader(q *queuePair) *reader {
	return &reader{
		q:     q,
		buf:   make([]byte, readBuffer),
		recvs: make([]rdma.Completion, 0, batch),
		sends: make([]rdma.Completion, 0, batch),
	}
}

// errDead: the queue pair failed or was closed from outside.
var errDead = errors.New("soft: queue pair is dead")

func (r *reader) run() {
	r.woke = time.Since(r.q.dev.base)
	err := r.q.cutErr() // before this goroutine ran
	if err == nil {
		err = r.loop()
	}
	r.teardown(err)
}

func (r *reader) loop() error {
	for {
		if r.q.dead.Load() {
			return errDead
		}
		f, ok, err := decode(r.buf[r.r:r.w], r.q.dev.opt.MaxRequest)
		if err != nil {
			return err
		}
		if !ok {
			if err := r.fill(); err != nil {
				return err
			}
			continue
		}
		r.r += f.fixed
		r.frames++
		r.frameNo++
		if err := r.execute(&f); err != nil {
			return err
		}
	}
}

func (r *reader) execute(f *frame) error {
	switch f.kind {
	case kindWrite, kindWriteImm:
		return r.serveWrite(f)
	case kindReadReq:
		return r.serveRead(f)
	case kindReadResp:
		return r.readDone(f)
	case kindAck:
		return r.acked(f.number)
	case kindNak:
		return r.refused(f)
	case kindCredit:
		return r.credit(f.number)
	case kindPing:
		r.q.mu.Lock()
		r.q.box.pongDue = true // publish sends it
		r.q.mu.Unlock()
	case kindBye:
		return fmt.Errorf("%s closed the queue pair: %w", r.q.peer, io.EOF)
	}
	return nil // PONG: its arrival is all that matters
}

// fill reads more into buf.
func (r *reader) fill() error {
	if r.r == r.w {
		r.r, r.w = 0, 0
	} else if r.r > 0 {
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
	}
	var err error
	switch {
	case r.w == 0 && r.timed:
		r.timed = false
		err = r.setDeadline(time.Time{})
	case r.w > 0 && (!r.timed || r.timedNo != r.frameNo):
		r.timedNo = r.frameNo
		err = r.deadline(0)
	}
	if err != nil {
		return err
	}
	n, err := r.read(r.buf[r.w:])
	r.w += n
	return err
}

// payload moves the current frame's payload into dst.
func (r *reader) payload(dst []byte) error {
	n := copy(dst, r.buf[r.r:r.w])
	r.r += n
	if dst = dst[n:]; len(dst) == 0 {
		return nil
	}
	if err := r.deadline(len(dst)); err != nil {
		return err
	}
	r.q.inFrame.Store(true)
	defer r.q.inFrame.Store(false)
	r.r, r.w = 0, 0
	for len(dst) > 0 {
		if len(dst) >= len(r.buf) {
			n, err := r.read(dst)
			if dst = dst[n:]; err != nil {
				return err
			}
			continue
		}
		n, err := r.read(r.buf)
		if err != nil {
			return err
		}
		r.w = n
		r.r = copy(dst, r.buf[:n])
		dst = dst[r.r:]
	}
	return nil
}

// read publishes, then reads from the stream: at least one byte, or an error.
func (r *reader) read(b []byte) (int, error) {
	r.publish()
	d := r.q.dev
	now := time.Since(d.base)
	d.nic.busy.Add(int64(now - r.woke))
	n, err := r.q.conn.Read(b)
	r.woke = time.Since(d.base)
	if n > 0 {
		r.q.rx.Add(1)
		r.bytes += uint64(n)
		return n, nil
	}
	if r.q.dead.Load() {
		return 0, errDead
	}
	if cut := r.q.cutErr(); cut != nil {
		return 0, cut
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && !r.q.broken() {
		err = violation("a frame was not completed within %v",
			d.opt.FrameTimeout)
	}
	return 0, err
}

// deadline limits the rest of the current frame, n bytes of payload.
func (r *reader) deadline(n int) error {
	r.timed = true
	return r.setDeadline(time.Now().Add(r.q.dev.opt.FrameTimeout +
		limits.TransferTime(n)))
}

// setDeadline must not undo an interrupt, which comes after dead is set
// under mu, nor sendFailed's.
func (r *reader) setDeadline(t time.Time) error {
	q := r.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.cause != nil {
		return errDead
	}
	if !q.box.broken {
		_ = q.conn.SetReadDeadline(t)
	}
	return q.cutErr() // the deadline may have undone cut's
}

func (q *queuePair) broken() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.box.broken
}

// publish makes the results of the frames since the last call visible.
func (r *reader) publish() {
	q := r.q
	r.pushEvents()
	r.count()
	q.mu.Lock()
	q.executed = max(q.executed, r.executed)
	if waiting := r.executed - min(q.box.acked, r.executed); waiting > 0 &&
		(r.askedAck || waiting >= q.ackAfter) {
		q.box.ackDue = true
	}
	r.askedAck = false
	q.flushUnlock()
}

func (r *reader) pushEvents() {
	if len(r.recvs) > 0 {
		r.q.recvCQ.Push(r.recvs)
		r.recvs = r.recvs[:0]
	}
	if len(r.sends) > 0 {
		r.q.sendCQ.Push(r.sends)
		r.sends = r.sends[:0]
	}
}

func (r *reader) count() {
	n := &r.q.dev.nic
	n.frames.Add(r.frames)
	n.bytes.Add(r.bytes)
	n.reads.Add(r.reads)
	n.writes.Add(r.writes)
	r.frames, r.bytes, r.reads, r.writes = 0, 0, 0, 0
}
