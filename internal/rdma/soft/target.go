package soft

import (
	"fmt"

	"github.com/catfish-index/catfish/internal/lines"
	"github.com/catfish-index/catfish/internal/rdma"
)

// This file is the target's side: the peer's requests against this
// side's registered memory.
//
// Reads are copied line by line (package lines), so that each aligned 64-byte
// line is one atomic read of memory that workers are changing. Writes are
// plain stores. The mutex in completionQueue.push orders them before the
// event that a WRITE_IMM causes, for the goroutine that polls it; the next
// READ_REQ is executed by the same goroutine, after them.
//
// A Write of one aligned word is collected first, since a socket may deliver
// it in pieces, and then stored whole, after the stores before it: a worker
// may look at it at any time (package rdma, "Order").

// flushAfter is how many bytes of responses accumulate before they are sent
// although more requests wait: the peer can start to work.
const flushAfter = 64 << 10

// target returns the region of a remote access, entered, or refuses the access.
func (r *reader) target(f *frame, need rdma.Access, n int) (*region, error) {
	reg := r.cached
	if reg == nil || reg.key != rdma.Key(f.number) {
		reg = r.q.dev.region(rdma.Key(f.number))
	}
	if reg == nil || !reg.enter() {
		r.cached = nil
		return nil, r.refuse(rdma.StatusRemoteKey, f)
	}
	if s := reg.check(need, f.offset, n); s != rdma.StatusOK {
		reg.leave()
		return nil, r.refuse(s, f)
	}
	r.cached = reg
	return reg, nil
}

func (r *reader) serveWrite(f *frame) error {
	q := r.q
	if f.kind == kindWriteImm {
		r.arrived++
		if r.arrived-q.polled.Load() > uint64(q.recvDepth) {
			return violation("%d WRITE_IMMs without credit, allowed %d",
				r.arrived-q.polled.Load(), q.recvDepth)
		}
	}
	if f.kind == kindWrite || f.payload > 0 {
		reg, err := r.target(f, rdma.RemoteWrite, f.payload)
		if err != nil {
			return err
		}
		err = r.store(reg, reg.mem[f.offset:f.offset+uint64(f.payload)])
		reg.leave()
		if err != nil {
			return err
		}
	}
	r.executed++
	r.writes++
	r.askedAck = r.askedAck || f.answer
	if f.kind == kindWriteImm {
		r.recvs = append(r.recvs, rdma.Completion{
			Op: rdma.OpRecv, Imm: f.word, Bytes: uint32(f.payload), QP: q,
		})
		if len(r.recvs) == batch {
			r.pushEvents()
		}
	}
	return nil
}

// store moves the current frame's payload into dst, which is reg's.
func (r *reader) store(reg *region, dst []byte) (err error) {
	if len(dst) > r.w-r.r { // waits for the peer
		// Whichever is later, this or Revoke, sees the other.
		r.q.arriving.Store(reg)
		defer r.q.arriving.Store(nil)
		if reg.revoked.Load() {
			return errRevoked
		}
	}
	if len(dst) != len(r.word) {
		return r.payload(dst)
	}
	if err = r.payload(r.word[:]); err == nil {
		lines.Store(dst, r.word[:])
	}
	return err
}

func (r *reader) serveRead(f *frame) error {
	q, n := r.q, int(f.word)
	if int64(f.word) > int64(q.dev.opt.MaxRequest) {
		return violation("READ_REQ of %d bytes, allowed %d", f.word,
			q.dev.opt.MaxRequest)
	}
	reg, err := r.target(f, rdma.RemoteRead, n)
	if err != nil {
		return err
	}
	defer reg.leave()
	r.executed++
	r.reads++

	q.mu.Lock()
	// A peer within its window has at most one window of bytes sent but not
	// yet accounted for, and one of queued bytes, each exceeded by at most
	// one frame's header.
	if have := q.box.respBytes + q.box.respSending + n; have >
		2*(q.dev.opt.ReadWindow+maxFixed) {
		q.mu.Unlock()
		return violation("%d bytes of reads in flight, allowed %d", have,
			q.dev.opt.ReadWindow)
	}
	q.respondLocked(r.executed, reg.mem[f.offset:f.offset+uint64(n)])
	if err := q.settleLocked(); err != nil {
		q.mu.Unlock()
		return err
	}
	if len(q.box.buf) >= flushAfter {
		q.flushUnlock()
	} else {
		q.mu.Unlock()
	}
	return nil
}

// refuse answers the current request with a NAK and fails.
func (r *reader) refuse(s rdma.Status, f *frame) error {
	return &refusal{status: s, seq: r.executed + 1, err: fmt.Errorf(
		"%s of %s, key %#x, offset %d: %s", kindName(f.kind), r.q.peer,
		f.number, f.offset, s)}
}

// refusal is an error of the peer's that a NAK reports to it.
type refusal struct {
	status rdma.Status
	seq    uint64
	err    error
}

func (e *refusal) Error() string { return e.err.Error() }
