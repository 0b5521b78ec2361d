package shm

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/internal/rdma"
)

// mapping is a peer's region, as one queue pair knows it by its key: no other
// peer can map its memory under this key. Guarded by queuePair.mu.
type mapping struct {
	key        rdma.Key
	view       *view
	mem        []byte // the view's memory
	size       uint64
	access     rdma.Access
	state      *atomic.Uint64 // in the peer's table
	generation uint64
	stored     atomic.Uint32 // written for its effect on the order of memory accesses
}

// control reads the connection's socket until it ends: the peer's requests
// for keys, answers, wake-ups, and its death. Then it takes the pair down.
func (p *queuePair) control() {
	defer close(p.done)
	err := p.serve()
	switch {
	case errors.Is(err, ErrLimit):
		// The request that needed the memory was not executed.
		p.fail(rdma.StatusRemoteAccess, err)
	case errors.Is(err, errMessage), errors.Is(err, errSeals), errors.Is(err, errSize):
		p.fail(rdma.StatusProtocol, err)
	case errors.Is(err, io.EOF):
		p.fail(rdma.StatusPeerLost, errors.New("shm: the peer closed the connection or died"))
	default:
		p.fail(rdma.StatusPeerLost, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	p.flush(p.fault.Load().first)
	// Post sees fault first and touches none of these any more.
	for _, m := range p.maps {
		m.view.release()
	}
	p.maps, p.last = nil, nil
	_ = unix.Munmap(p.tx.mem)
	p.table.release()
	p.holds.mapped.Close()
}

func (p *queuePair) serve() error {
	in, err := newInlet(p.conn, make([]byte, maxMessage+1)) // one more byte reveals an overlong message
	if err != nil {
		return err
	}
	for {
		b, fds, err := in.receive()
		if err != nil {
			return err
		}
		m, err := decodeControl(b)
		if err == nil {
			err = p.handle(m, fds)
		}
		closeAll(fds)
		if err != nil {
			return err
		}
	}
}

func (p *queuePair) handle(m control, fds []int) error {
	wantFds := 0
	if m.kind == kindAnswer && m.status == rdma.StatusOK {
		wantFds = 1
	}
	if len(fds) != wantFds {
		return fmt.Errorf("%w: kind %d with %d descriptors, need %d", errMessage, m.kind, len(fds), wantFds)
	}
	switch m.kind {
	case kindWake:
		p.woken()
		return nil
	case kindAsk:
		return p.answer(m.key)
	case kindAnswer:
		return p.answered(m, fds)
	case kindEnd:
		return fmt.Errorf("%w: %s", errEnded, m.reason)
	default:
		p.unmap(m.key)
		// A socket full of these has no room for wake-ups (ring.go).
		p.woken()
		return nil
	}
}

// woken handles a wake-up: events came, or there is room for ours. Two words
// in shared memory say which, so both queues may be woken spuriously.
func (p *queuePair) woken() {
	p.recvCQ.inbox.signal(p)
	if p.starved.CompareAndSwap(true, false) {
		p.sendCQ.inbox.wakeWaiter()
	}
}

// answer sends a region, once: a correct peer keeps it, and one that asks
// again and does not read could pile up descriptors in flight, of which the
// kernel permits this user a limited number.
func (p *queuePair) answer(key rdma.Key) error {
	m := control{kind: kindAnswer, key: key, status: rdma.StatusRemoteKey}
	again := false
	d := p.dev
	d.mu.Lock()
	r := d.regions[key]
	if r != nil && (r.revoked.Load() || !r.uses.acquire()) {
		r = nil
	}
	if r != nil && r.fd >= 0 {
		// Under d.mu, so that a Revoke of the region finds it.
		p.handedMu.Lock()
		_, again = p.handed[key]
		p.handed[key] = struct{}{}
		p.handedMu.Unlock()
	}
	d.mu.Unlock()

	var fds []int
	if r != nil {
		defer r.uses.release()
		if again {
			return fmt.Errorf("%w: a region that the peer has is asked for again", errMessage)
		}
		if m.status = rdma.StatusRemoteAccess; r.fd >= 0 {
			m.status, m.access, m.size = rdma.StatusOK, r.access&remoteAccess, uint64(r.size)
			m.slot, m.generation = r.slot, r.gen
			fds = []int{r.fd}
		}
	}
	var b [answerBytes]byte
	if err := p.conn.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	return sendMessage(p.conn, m.encode(&b), fds...)
}

// answered takes the answer to the one outstanding request.
func (p *queuePair) answered(m control, fds []int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault.Load() != nil {
		return nil
	}
	if len(p.pending) == 0 || p.pending[0].wr.Remote.Key != m.key || p.maps[m.key] != nil {
		return fmt.Errorf("%w: answer that nobody asked for", errMessage)
	}
	p.timer.Stop()
	p.asks++ // It may be waiting for the lock.
	if m.status != rdma.StatusOK {
		p.drop(m.status)
		return nil // the pair has failed: flushed when control ends
	}
	if err := p.takeMapping(pages(int(m.size))); err != nil {
		return err
	}
	v, err := viewReceived(fds[0], int(m.size), m.access&rdma.RemoteWrite != 0)
	if err != nil {
		return err
	}
	p.maps[m.key] = &mapping{
		key: m.key, view: v, mem: v.mem, size: m.size, access: m.access,
		state: tableWord(p.table.mem, m.slot), generation: m.generation,
	}
	p.resume()
	return nil
}

// unmap releases a region that its owner has closed. A later request asks for
// it again.
func (p *queuePair) unmap(key rdma.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.maps[key]; m != nil {
		m.view.release()
		p.giveMapping(pages(int(m.size)))
		delete(p.maps, key)
		p.last = nil
	}
}

// revoke asks the peer to unmap a region, if it has it. A peer that does not
// read only keeps the memory longer: the table already shows that the region
// is closed.
func (p *queuePair) revoke(key rdma.Key) {
	p.handedMu.Lock()
	_, has := p.handed[key]
	delete(p.handed, key)
	p.handedMu.Unlock()
	if has {
		_ = p.out.send(control{kind: kindRevoke, key: key})
	}
}
