package inmem

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"

	"github.com/catfish-index/catfish/internal/lines"
	"github.com/catfish-index/catfish/internal/rdma"
)

var errPeerGone = errors.New("inmem: the peer has closed")

// queuePair implements rdma.QueuePair. Its fields below cfg are guarded
// by the fabric's mutex.
type queuePair struct {
	dev     *Device
	peer    *queuePair
	cfg     rdma.QPConfig
	send    *completionQueue
	recv    *completionQueue
	private []byte // private data of the peer
	number  int

	sq          []rdma.WorkRequest // not executed: the receiver is full
	outstanding int                // len(sq) and unpolled completions
	arrived     int                // events not polled
	err         error
	late        []func() // EventBeforeBytes: copies, in order of events
	lateDue     int      // of these, the events that were polled
	after       []func() // WordBeforeBytes: copies, until the next word
}

// checkConfig checks cfg and fills in its defaults.
func (d *Device) checkConfig(cfg *rdma.QPConfig) (send, recv *completionQueue, err error) {
	send, _ = cfg.SendCQ.(*completionQueue)
	recv, _ = cfg.RecvCQ.(*completionQueue)
	if send == nil || recv == nil || send.dev != d || recv.dev != d {
		return nil, nil, fmt.Errorf("%w: SendCQ and RecvCQ must be queues of this device", rdma.ErrBadRequest)
	}
	if cfg.SendDepth < 0 || cfg.RecvDepth < 0 {
		return nil, nil, fmt.Errorf("%w: depths %d and %d, allowed 0 and more",
			rdma.ErrBadRequest, cfg.SendDepth, cfg.RecvDepth)
	}
	if cfg.SendDepth == 0 {
		cfg.SendDepth = rdma.DefaultDepth
	}
	if cfg.RecvDepth == 0 {
		cfg.RecvDepth = rdma.DefaultDepth
	}
	return send, recv, nil
}

func (p *queuePair) PrivateData() []byte { return p.private }
func (p *queuePair) Peer() string        { return p.peer.dev.name }
func (p *queuePair) Context() any        { return p.cfg.Context }

func (p *queuePair) Err() error {
	p.dev.f.mu.Lock()
	defer p.dev.f.mu.Unlock()
	return p.err
}

// Post executes the requests that need not wait.
func (p *queuePair) Post(wrs []rdma.WorkRequest) (int, error) {
	f := p.dev.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bug == ReadOvertakes {
		wrs = readsFirst(wrs)
	}
	for i := range wrs {
		w := wrs[i]
		if p.err != nil && f.bug != PostAfterFailure {
			return i, fmt.Errorf("%w: to %s: %w", rdma.ErrQueuePair, p.Peer(), p.err)
		}
		if p.outstanding >= p.cfg.SendDepth && f.bug != NoSendLimit {
			if f.bug == RestLost {
				return len(wrs), nil
			}
			return i, fmt.Errorf("%w: %d requests outstanding", rdma.ErrQueueFull, p.outstanding)
		}
		if err := p.validateLocked(&w); err != nil {
			return i, fmt.Errorf("%w: request %d: %w", rdma.ErrBadRequest, i, err)
		}
		if p.err != nil {
			continue
		}
		p.outstanding++
		p.sq = append(p.sq, w)
		p.progressLocked()
		if f.bug == MixesPosts {
			f.mu.Unlock()
			runtime.Gosched()
			f.mu.Lock()
		}
	}
	return len(wrs), nil
}

func readsFirst(wrs []rdma.WorkRequest) []rdma.WorkRequest {
	var reads, others []rdma.WorkRequest
	for _, w := range wrs {
		if w.Op == rdma.OpRead {
			reads = append(reads, w)
		} else {
			others = append(others, w)
		}
	}
	return append(reads, others...)
}

// validateLocked checks the local side of a request.
func (p *queuePair) validateLocked(w *rdma.WorkRequest) error {
	if w.Op != rdma.OpRead && w.Op != rdma.OpWrite && w.Op != rdma.OpWriteImm {
		return fmt.Errorf("%v cannot be posted", w.Op)
	}
	if w.Op == rdma.OpWriteImm && w.Local.Len == 0 {
		return nil
	}
	r, _ := w.Local.Region.(*region)
	if r == nil || r.dev != p.dev || r.closed {
		return errors.New("the local region is not an open region of this device")
	}
	l := &w.Local
	if l.Offset < 0 || l.Len < 0 || l.Offset > r.size || l.Len > r.size-l.Offset {
		if p.dev.f.bug == NoLocalBounds {
			*l = rdma.Buffer{Region: r}
			return nil
		}
		return fmt.Errorf("local offset %d and length %d exceed the region's %d bytes",
			l.Offset, l.Len, r.size)
	}
	if w.Op == rdma.OpRead && r.access&rdma.LocalWrite == 0 && p.dev.f.bug != NoLocalWriteCheck {
		return errors.New("a read needs a local region with LocalWrite")
	}
	return nil
}

// progressLocked executes requests in order until one must wait for room at
// the receiver.
func (p *queuePair) progressLocked() {
	f := p.dev.f
	for len(p.sq) > 0 && p.err == nil {
		w := p.sq[0]
		full := p.peer.arrived >= p.peer.cfg.RecvDepth
		if w.Op == rdma.OpWriteImm && full && f.bug != NoBackPressure && f.bug != EventLost {
			return
		}
		status := p.executeLocked(&w)
		p.sq = p.sq[1:]
		if status != rdma.StatusOK {
			p.completeLocked(&w, status)
			p.failLocked(fmt.Errorf("%v: %v", w.Op, status))
			if f.bug != PeerNotFailed {
				p.peer.failLocked(fmt.Errorf("the peer's %v failed: %v", w.Op, status))
			}
			if f.bug == BystandersFail {
				for q := range p.dev.qps {
					q.failLocked(errPeerGone)
				}
			}
			return
		}
		if w.Op == rdma.OpWriteImm && (!full || f.bug != EventLost) {
			p.peer.arrived++
			p.peer.recv.pushLocked(rdma.Completion{Op: rdma.OpRecv, Imm: w.Imm,
				Bytes: uint32(w.Local.Len), QP: p.peer})
		}
		if w.Unsignaled && f.bug != SignalsAll {
			p.outstanding--
		} else {
			p.completeLocked(&w, rdma.StatusOK)
		}
	}
}

func (p *queuePair) completeLocked(w *rdma.WorkRequest, s rdma.Status) {
	p.send.pushLocked(rdma.Completion{Op: w.Op, Status: s, ID: w.ID,
		Bytes: uint32(w.Local.Len), QP: p})
}

// executeLocked copies the bytes of one request.
func (p *queuePair) executeLocked(w *rdma.WorkRequest) rdma.Status {
	if w.Op == rdma.OpWriteImm && w.Local.Len == 0 {
		return rdma.StatusOK
	}
	f, need := p.dev.f, rdma.RemoteWrite
	if w.Op == rdma.OpRead {
		need = rdma.RemoteRead
	}
	r, status := f.checkLocked(p.peer.dev, w.Remote, w.Local.Len, need)
	n, off := w.Local.Len, int(w.Remote.Addr)
	if status == rdma.StatusRemoteBounds && (f.bug == NoBoundsCheck || f.bug == PartialWrite) {
		n = max(0, min(n, r.size-off))
		if off < 0 || n == 0 {
			n, off = 0, 0
		}
		if f.bug == NoBoundsCheck {
			status = rdma.StatusOK
		}
	} else if status != rdma.StatusOK {
		return status
	}
	local := w.Local.Region.(*region).Bytes()[w.Local.Offset:][:n]
	switch {
	case w.Op == rdma.OpRead:
		r.readInto(local, off)
	case f.bug == EventBeforeBytes && w.Op == rdma.OpWriteImm:
		late := bytes.Clone(local)
		p.peer.late = append(p.peer.late, func() { copy(r.b[off:], late) })
	case f.bug == WriteRoundsUp:
		copy(r.b[off:], local)
		for end := off + n; end%8 != 0; end++ {
			r.b[end] = 0xff
		}
	case f.bug == WordBeforeBytes && w.Op == rdma.OpWrite && n != 8:
		p.after = append(p.after, func() { storeLate(r.b[off:], local) })
	case f.bug == RevokeTooEarly && w.Op == rdma.OpWrite && n != 8:
		f.mu.Unlock()
		for range 100 {
			runtime.Gosched()
		}
		storeLate(r.b[off:], local)
		f.mu.Lock()
	case f.bug == TornWord && n == 8:
		r.storeHalves(off, local)
	default:
		lines.Store(r.b[off:], local)
		p.runAfter()
	}
	return status
}

// runAfter makes the copies that WordBeforeBytes has deferred.
func (p *queuePair) runAfter() {
	if len(p.after) == 0 {
		return
	}
	for range 100 {
		runtime.Gosched()
	}
	for _, move := range p.after {
		move()
	}
	p.after = nil
}

// storeLate copies while the target looks at dst: that is the bug, and no data
// race of the suite's. The race detector would see the built-in copy in spite
// of the directive.
//
//go:norace
func storeLate(dst, src []byte) {
	for i := len(src) - 1; i >= 0; i-- {
		dst[i] = src[i]
	}
}

// failLocked puts p into the error state, once.
func (p *queuePair) failLocked(err error) {
	if p.err != nil {
		return
	}
	p.err = err
	bug := p.dev.f.bug
	for i := range p.sq {
		if bug != NoFlush && (bug != UnsignaledLost || !p.sq[i].Unsignaled) {
			p.completeLocked(&p.sq[i], rdma.StatusFlushed)
		}
	}
	p.sq = nil
	lost := rdma.Completion{Op: rdma.OpRecv, Status: rdma.StatusPeerLost, QP: p}
	if bug != FailureUntold {
		p.recv.pushLocked(lost)
	}
	if bug == FailureToldTwice {
		p.recv.pushLocked(lost)
	}
}

func (p *queuePair) Close() error {
	p.dev.f.mu.Lock()
	defer p.dev.f.mu.Unlock()
	p.closeLocked()
	return nil
}

func (p *queuePair) closeLocked() {
	if _, open := p.dev.qps[p]; !open {
		return
	}
	delete(p.dev.qps, p)
	if p.err == nil {
		p.err = fmt.Errorf("%w: queue pair", rdma.ErrClosed)
	}
	p.sq = nil
	if p.dev.f.bug != EventAfterClose {
		p.send.dropLocked(p)
		p.recv.dropLocked(p)
	}
	if p.dev.f.bug == GoroutineLeft {
		go func() { select {} }()
	}
	p.peer.failLocked(errPeerGone)
}
