package soft

import "github.com/catfish-index/catfish/internal/rdma"

// This file is the initiator's side: answers to this side's requests.
// An answer that fits no request of the send queue is a violation.

// headLocked returns the oldest request without an answer, and its number.
// Nil: there is none.
func (q *queuePair) headLocked() (*pending, uint64) {
	if q.sqLen == 0 {
		return nil, q.posted + 1
	}
	return &q.sq[q.sqHead], q.posted - uint64(q.sqLen) + 1
}

// completeLocked takes the oldest request out of the send queue.
func (r *reader) completeLocked(s rdma.Status) {
	q := r.q
	p := &q.sq[q.sqHead]
	if p.op == rdma.OpRead {
		q.readBytes -= int(p.n) + maxFixed
		p.region.release()
	}
	if p.signaled || s != rdma.StatusOK {
		q.unpolled.Add(1)
		r.sends = append(r.sends, rdma.Completion{
			Op: p.op, Status: s, Bytes: p.n, ID: p.id, QP: q,
		})
		if len(r.sends) == batch {
			q.sendCQ.Push(r.sends)
			r.sends = r.sends[:0]
		}
	}
	*p = pending{}
	q.sqHead = (q.sqHead + 1) % len(q.sq)
	q.sqLen--
}

// completeWritesLocked completes the Writes up to number seq.
func (r *reader) completeWritesLocked(seq uint64, kind byte) error {
	q := r.q
	if seq > q.posted {
		return violation("%s of request %d, posted were %d", kindName(kind),
			seq, q.posted)
	}
	for p, n := q.headLocked(); p != nil && n <= seq; p, n = q.headLocked() {
		if p.op == rdma.OpRead {
			return violation("%s of request %d before the answer to read %d",
				kindName(kind), seq, n)
		}
		r.completeLocked(rdma.StatusOK)
	}
	q.unstarveLocked()
	return nil
}

func (r *reader) acked(seq uint64) error {
	r.q.mu.Lock()
	defer r.q.mu.Unlock()
	return r.completeWritesLocked(seq, kindAck)
}

func (r *reader) readDone(f *frame) error {
	q := r.q
	q.mu.Lock()
	if f.number == 0 {
		q.mu.Unlock()
		return violation("READ_RESP of request 0")
	}
	if err := r.completeWritesLocked(f.number-1, f.kind); err != nil {
		q.mu.Unlock()
		return err
	}
	p, n := q.headLocked()
	if p == nil || n != f.number || p.op != rdma.OpRead ||
		int(p.n) != f.payload {
		q.mu.Unlock()
		return violation("READ_RESP %d of %d bytes fits no read", f.number,
			f.payload)
	}
	dst := p.dst
	q.mu.Unlock()

	// Only this goroutine completes the request, so its use of the region is
	// still held.
	if err := r.payload(dst); err != nil {
		return err
	}
	q.mu.Lock()
	r.completeLocked(rdma.StatusOK)
	q.unstarveLocked()
	q.mu.Unlock()
	return nil
}

// refused handles a NAK.
func (r *reader) refused(f *frame) error {
	q, s := r.q, rdma.Status(f.word)
	switch s {
	case rdma.StatusRemoteKey, rdma.StatusRemoteAccess, rdma.StatusRemoteBounds:
	case rdma.StatusProtocol:
		return violation("%s says so of this side", q.peer)
	default:
		return violation("NAK with status %d", f.word)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if f.number == 0 {
		return violation("NAK of request 0")
	}
	if err := r.completeWritesLocked(f.number-1, f.kind); err != nil {
		return err
	}
	p, n := q.headLocked()
	if p == nil || n != f.number {
		return violation("NAK of request %d, which is not outstanding", f.number)
	}
	q.failLocked(s, &rdma.CompletionError{Peer: q.peer, Op: p.op, Status: s})
	return errDead
}

func (r *reader) credit(n uint64) error {
	q := r.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if n < q.creditImms || n > q.sentImms {
		return violation("CREDIT %d, allowed %d to %d", n, q.creditImms,
			q.sentImms)
	}
	q.creditImms = n
	q.unstarveLocked()
	return nil
}
