package rings

import (
	"context"
	"errors"

	"github.com/catfish-index/catfish/internal/rdma"
)

const (
	// slots is how many small sources, tail words or lines, a side has: as many of its
	// announcements are outstanding at most.
	slots = 32
	// signalEvery is how often an announcement is signaled: often enough that half of the
	// slots are known to be free again when the others are used.
	signalEvery = slots / 2
	// sendDepth has room for a pad, a frame and a word for each slot.
	sendDepth = 3 * slots
	// recvDepth is for the announcements of the peer.
	recvDepth = 2 * slots
)

// poster posts what one goroutine writes. The last request of each post is the announcement,
// whose source is a slot.
type poster struct {
	qp     rdma.QueuePair
	cq     rdma.CompletionQueue
	ctx    context.Context
	posted uint64 // announcements
	done   uint64 // of which are complete
	all    bool   // all are signaled
	polled [8]rdma.Completion
}

// slot waits for a free slot.
func (p *poster) slot() (int, error) {
	for p.posted-p.done >= slots {
		if err := p.wait(); err != nil {
			return 0, err
		}
	}
	return int(p.posted % slots), nil
}

// post posts requests, in order, and waits while queues are full.
func (p *poster) post(wrs []rdma.WorkRequest) error {
	p.posted++
	last := &wrs[len(wrs)-1]
	last.ID, last.Unsignaled = p.posted, p.posted%signalEvery != 0 && !p.all
	for {
		n, err := p.qp.Post(wrs)
		wrs = wrs[n:]
		switch {
		case err == nil:
			_, err = p.poll()
			return err
		case !errors.Is(err, rdma.ErrQueueFull):
			if cause := p.qp.Err(); cause != nil {
				err = cause
			}
			return err
		}
		if err := p.wait(); err != nil {
			return err
		}
	}
}

// wait waits for a completion, or for room.
func (p *poster) wait() error {
	if n, err := p.poll(); n > 0 || err != nil {
		return err
	}
	if err := p.cq.Wait(p.ctx, -1); err != nil {
		return err
	}
	_, err := p.poll()
	return err
}

// poll takes completions, and returns their number.
func (p *poster) poll() (all int, err error) {
	for {
		n := p.cq.Poll(p.polled[:])
		for i := range p.polled[:n] {
			c := &p.polled[i]
			if err := c.Err(); err != nil {
				return all, err
			}
			p.done = max(p.done, c.ID)
		}
		clear(p.polled[:n]) // They hold queue pairs.
		if all += n; n < len(p.polled) {
			return all, nil
		}
	}
}

// events are those that the peer's announcements cause. One goroutine waits for them.
type events struct {
	cq   rdma.CompletionQueue
	done [16]rdma.Completion
}

// await waits for events, and takes them. An error is the end of the queue pair.
func (e *events) await(ctx context.Context) error {
	err := e.cq.Wait(ctx, -1)
	for n := len(e.done); err == nil && n == len(e.done); {
		n = e.cq.Poll(e.done[:])
		for i := range e.done[:n] {
			err = errors.Join(err, e.done[i].Err())
		}
		clear(e.done[:n])
	}
	return err
}
