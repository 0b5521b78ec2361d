package shm

import (
	"fmt"
	"runtime"
	"time"

	"github.com/catfish-index/catfish/internal/lines"
	"github.com/catfish-index/catfish/internal/rdma"
)

// Why a Write with StatusOK is in the bytes of a region that was revoked:
//
//	initiator (transfer)                   owner (Revoke, then its code)
//	S  stores the bytes                    G  the region's generation + 1
//	F  an atomic store, which is a fence   L  loads the bytes
//	C  loads the generation: StatusOK
//	   only if it is the old one
//
// If C loads the old generation, C comes before G in the one order that all
// processors see. F keeps S before C: without it a processor, even amd64, may
// load while its earlier stores still wait in its store buffer (Intel SDM 3A,
// 8.2.3.4), and L would miss them. G is atomic, too, so L comes after it. So S
// comes before L. On amd64 F is XCHG, which no load overtakes and which empties
// the store buffer; on arm64 it is STLR, which S cannot pass, and C is LDAR,
// which cannot pass F. An aligned word is S and F in one (lines.Store).
//
// If C loads a later generation, the Write fails, and some of its bytes may be
// in the memory, or may come later: a process that is stopped within S completes
// S when it is continued. Hence rdma.RevokedComplete, not RevokedFinal.

// Why the last byte of a Write is the last to appear (rdma.Info.InOrder), on amd64: S
// is Go's memmove between mappings that do not overlap. Whatever the length, its last
// store brings the last bytes: it loads both ends first, and stores the end last
// (runtime/memmove_amd64.s). Other processors see the stores of one in their order
// (Intel SDM 3A, 8.2.2); those of a REP MOVS may change places among themselves, but
// not with the store after it. On other processors, plain stores may overtake each other.
const inOrder = runtime.GOARCH == "amd64"

// pending is a request that waits for the mapping of its key, or for an
// earlier one that does. Its region stays acquired.
type pending struct {
	wr    rdma.WorkRequest
	local *region
}

// Post executes the requests, in order. The first one with an unknown key and
// those after it wait for the peer's answer instead; the control goroutine
// executes them then.
func (p *queuePair) Post(wrs []rdma.WorkRequest) (int, error) {
	p.mu.Lock()
	n := 0
	var err error
	for ; n < len(wrs) && err == nil; n++ {
		if err = p.post(&wrs[n]); err != nil {
			break
		}
	}
	p.report()
	p.hold(nil)
	p.wakePeer()
	p.mu.Unlock()
	return n, err
}

// wakePeer sends the wake-up for all events since the last one.
func (p *queuePair) wakePeer() {
	if p.wakeDue {
		p.wakeDue = false
		p.out.sendWake()
	}
}

// post accepts one request. The caller holds mu, here and below.
func (p *queuePair) post(w *rdma.WorkRequest) error {
	if f := p.fault.Load(); f != nil {
		return f.post
	}
	r, err := p.acquire(w)
	if err != nil {
		return err
	}
	if err := p.full(w); err != nil {
		return err
	}
	if len(p.pending) == 0 {
		status, done := p.execute(w, r)
		if done {
			p.finish(w, status)
			return nil
		}
		p.ask(w.Remote.Key)
	}
	if w.Op == rdma.OpWriteImm {
		p.imms++
	}
	p.pending = append(p.pending, pending{*w, r})
	if r != nil {
		p.held = nil // pending holds it now
	}
	return nil
}

// hold releases the region that the previous request acquired, and keeps r
// for the next ones: requests of one Post mostly use one region.
func (p *queuePair) hold(r *region) {
	if p.held != nil {
		p.held.uses.release()
	}
	p.held = r
}

// full returns the error if there is no room for w, here or at the peer.
func (p *queuePair) full(w *rdma.WorkRequest) error {
	if int(p.unpolled.Load())+len(p.ended)+len(p.pending) >= p.sendDepth {
		return p.errSendFull
	}
	if w.Op != rdma.OpWriteImm || p.tx.room(p.imms+1) {
		return nil
	}
	if p.tx.broken {
		p.fail(rdma.StatusProtocol, errRing)
		return p.fault.Load().post
	}
	// Set before the last check of the ring, so that a wake-up that comes at
	// once finds it.
	p.starved.Store(true)
	if p.tx.room(p.imms + 1) {
		p.starved.Store(false)
		return nil
	}
	return p.errRecvFull
}

// acquire checks the local side of a request and holds its region, nil if the
// request has no bytes.
func (p *queuePair) acquire(w *rdma.WorkRequest) (*region, error) {
	switch w.Op {
	case rdma.OpRead, rdma.OpWrite:
	case rdma.OpWriteImm:
		if w.Local.Len == 0 {
			return nil, nil
		}
	default:
		return nil, fmt.Errorf("%w: %s cannot be posted", rdma.ErrBadRequest, w.Op)
	}
	r, ok := w.Local.Region.(*region)
	if !ok || r == nil || r.dev != p.dev {
		return nil, fmt.Errorf("%w: Local.Region must be a region of this device", rdma.ErrBadRequest)
	}
	off, n := w.Local.Offset, w.Local.Len
	if off < 0 || n < 0 || off > r.size || n > r.size-off || n > maxRequestBytes {
		return nil, fmt.Errorf("%w: local offset %d, length %d: the region has %d bytes, a request at most %d",
			rdma.ErrBadRequest, off, n, r.size, maxRequestBytes)
	}
	if w.Op == rdma.OpRead && r.access&rdma.LocalWrite == 0 {
		return nil, fmt.Errorf("%w: read into a region without LocalWrite", rdma.ErrBadRequest)
	}
	if r == p.held && !r.revoked.Load() {
		return r, nil
	}
	if r.revoked.Load() || !r.uses.acquire() {
		return nil, fmt.Errorf("%w: Local.Region is closed", rdma.ErrBadRequest)
	}
	p.hold(r)
	return r, nil
}

// execute executes a request, unless its key is not mapped yet. There is
// room for its event.
func (p *queuePair) execute(w *rdma.WorkRequest, r *region) (status rdma.Status, done bool) {
	if r != nil {
		m := p.last
		if m == nil || m.key != w.Remote.Key {
			if m = p.maps[w.Remote.Key]; m == nil {
				return 0, false
			}
			p.last = m
		}
		local := r.mem[w.Local.Offset : w.Local.Offset+w.Local.Len]
		if status := m.transfer(w.Op, w.Remote.Addr, local); status != rdma.StatusOK {
			return status, true
		}
	}
	if w.Op == rdma.OpWriteImm && p.tx.push(w.Imm, uint32(w.Local.Len)) {
		p.wakeDue = true
	}
	return rdma.StatusOK, true
}

// transfer copies, and checks before and after that the region is open: bytes
// read from a closed one are not valid, and bytes written to one may not be seen.
func (m *mapping) transfer(op rdma.Op, off uint64, local []byte) rdma.Status {
	need, n := rdma.RemoteWrite, uint64(len(local))
	if op == rdma.OpRead {
		need = rdma.RemoteRead
	}
	switch {
	case m.state.Load() != m.generation:
		return rdma.StatusRemoteKey
	case m.access&need == 0:
		return rdma.StatusRemoteAccess
	case off > m.size || n > m.size-off:
		return rdma.StatusRemoteBounds
	case op == rdma.OpRead:
		lines.Copy(local, m.mem[off:off+n])
	default:
		lines.Store(m.mem[off:off+n], local)
		if n != 8 || off%8 != 0 {
			m.stored.Store(1) // F
		}
	}
	if m.state.Load() != m.generation {
		return rdma.StatusRemoteKey
	}
	return rdma.StatusOK
}

// finish records a request's end for report. A failed request fails the pair,
// and is reported first.
func (p *queuePair) finish(w *rdma.WorkRequest, status rdma.Status) {
	if status == rdma.StatusOK && w.Unsignaled {
		return
	}
	p.ended = append(p.ended, rdma.Completion{
		Op: w.Op, Status: status, Bytes: uint32(w.Local.Len), ID: w.ID, QP: p,
	})
	if status != rdma.StatusOK && p.fault.Load() == nil {
		p.report()
		p.fail(rdma.StatusFlushed, fmt.Errorf("%w: %s: %s", errLocal, w.Op, status))
	}
}

// report passes completions to the queue, those of one Post at once: the
// queue's lock, its counter and the pair's take longer than a small read.
func (p *queuePair) report() {
	if len(p.ended) == 0 {
		return
	}
	p.unpolled.Add(int64(len(p.ended)))
	p.sendCQ.inbox.put(p.ended)
	p.ended = p.ended[:0]
}

// ask requests the mapping of a key. The answer comes to the control
// goroutine, or the pair fails.
func (p *queuePair) ask(key rdma.Key) {
	if err := p.out.send(control{kind: kindAsk, key: key}); err != nil {
		p.fail(rdma.StatusPeerLost, err)
		return
	}
	p.asks++
	p.await(p.asks, answerTicks)
}

// answerTicks are the parts of PeerTimeout in which the wait for an answer is counted: a process
// that has no processor itself for longer takes that for one part, and not for the peer's silence.
const answerTicks = 8

// await fails the pair after that number of ticks, unless the request was answered or the pair
// has failed. The caller holds p.mu.
func (p *queuePair) await(ask uint64, ticks int) {
	p.timer = time.AfterFunc(rdma.PeerTimeout/answerTicks, func() { p.tick(ask, ticks) })
}

// tick ends one of the ticks that are left.
func (p *queuePair) tick(ask uint64, ticks int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.asks != ask || p.fault.Load() != nil:
	case ticks == 1:
		p.fail(rdma.StatusPeerLost, errAnswer)
	default:
		p.await(ask, ticks-1)
	}
}

// resume executes the waiting requests, up to the next unknown key.
func (p *queuePair) resume() {
	for len(p.pending) > 0 && p.fault.Load() == nil {
		first := p.pending[0]
		status, done := p.execute(&first.wr, first.local)
		if !done {
			p.ask(first.wr.Remote.Key)
			break
		}
		p.drop(status)
	}
	p.wakePeer()
}

// drop ends the oldest pending request.
func (p *queuePair) drop(status rdma.Status) {
	first := p.pending[0]
	p.pending[0] = pending{}
	if p.pending = p.pending[1:]; len(p.pending) == 0 {
		p.pending = nil
	}
	if first.wr.Op == rdma.OpWriteImm {
		p.imms--
	}
	if first.local != nil {
		first.local.uses.release()
	}
	p.finish(&first.wr, status)
	p.report()
}

// flush ends all pending requests, when the pair has failed.
func (p *queuePair) flush(first rdma.Status) {
	for status := first; len(p.pending) > 0; status = rdma.StatusFlushed {
		p.drop(status)
	}
}
