package rings

import (
	"context"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/replica/lane"
	"github.com/catfish-index/catfish/internal/tailword"
)

// Receiver is the follower's side of a lane. One goroutine calls Read, another one
// Acknowledge; any may call Stop.
type Receiver struct {
	post    poster
	events  events
	ring    rdma.Region // the primary writes it
	sources rdma.Region // lines
	line    rdma.Remote // of the primary
	size    int
	torn    bool // the tail word may be seen in part
	end     context.CancelFunc
	stopped atomic.Bool

	at       uint64 // of the next frame, since the lane began
	batch    lane.Batch
	head     [lane.HeaderBytes]byte
	consumed atomic.Uint64 // at, for Acknowledge
	said     uint64        // the last one that was acknowledged
	last     lane.Ack
	wr       [1]rdma.WorkRequest
}

// Dial opens a lane to the primary that listens at an address of the device. The ring has a
// number of bytes; a batch has at most that many bytes.
func Dial(ctx context.Context, dev rdma.Device, addr string, h lane.Hello, ring, batch int) (_ *Receiver, err error) {
	life, end := context.WithCancel(context.Background())
	r := &Receiver{size: ring, torn: dev.Info().TornLines, end: end, batch: lane.Batch{Most: batch}}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if r.events.cq, err = dev.CreateCQ(recvDepth); err != nil {
		return nil, err
	}
	cq, err := dev.CreateCQ(recvDepth)
	if err != nil {
		return nil, err
	}
	r.post = poster{cq: cq, ctx: life}
	if r.ring, err = dev.Register(int(lane.RegionBytes(ring)), rdma.RemoteWrite); err != nil {
		return nil, err
	}
	tailword.Put(r.ring.Bytes()[ring:], 0)
	if r.sources, err = dev.Register(slots*lane.AckBytes, 0); err != nil {
		return nil, err
	}
	h.Ring, h.RingBytes = r.ring.Remote(), uint32(ring)
	r.post.qp, err = dev.Dial(ctx, addr, rdma.QPConfig{SendCQ: cq, RecvCQ: r.events.cq, SendDepth: sendDepth, RecvDepth: recvDepth}, h.Encode())
	if err != nil {
		return nil, err
	}
	w, err := lane.DecodeWelcome(r.post.qp.PrivateData())
	if err != nil {
		return nil, err
	}
	r.line = w.Ack
	// The primary may not reach the ring, for want of room as a rule.
	if err := r.events.await(ctx); err != nil {
		return nil, fmt.Errorf("rings: the primary does not write into the ring of %d bytes: %w", ring, err)
	}
	return r, nil
}

// Read calls f with each frame, in order, and with batches whole, until the lane ends. The
// payload is f's. An error of f ends it, too. pressed is called when the ring is half
// consumed since the last acknowledgement: the follower says so soon (Acknowledge).
func (r *Receiver) Read(f func(lane.Frame) error, pressed func()) error {
	for {
		err := r.events.await(r.post.ctx)
		stopped := r.stopped.Load() // before the last look at the ring
		if err := r.drain(f, pressed); err != nil {
			return err
		}
		if stopped {
			return ErrStopped
		}
		if err != nil {
			return err
		}
	}
}

// tailWord returns the tail word after the ring.
//
// SAFETY: the region is longer than the ring by a line, and begins at a page, as the word does
// at a multiple of a page.
func (r *Receiver) tailWord() uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&r.ring.Bytes()[r.size : r.size+rdma.LineBytes][0])))
}

// drain reads what the tail word announces.
func (r *Receiver) drain(f func(lane.Frame) error, pressed func()) error {
	loaded := r.tailWord()
	units, whole := tailword.Units(loaded)
	switch {
	case !whole && r.torn:
		return nil // The rest of it will come, and an event.
	case !whole:
		return fmt.Errorf("%w: tail word %#x, whose halves are not complements", ErrPeer, loaded)
	}
	more := uint64(units-uint32(r.at/tailword.UnitBytes)) * tailword.UnitBytes
	if more > uint64(r.size) {
		return fmt.Errorf("%w: the tail is %d bytes ahead, in a ring of %d", ErrPeer, more, r.size)
	}
	for tail := r.at + more; r.at < tail; {
		if err := r.frame(int(tail-r.at), f); err != nil {
			return err
		}
		r.consumed.Store(r.at)
		if r.at-r.said >= uint64(r.size)/4 {
			r.said = r.at
			pressed()
		}
	}
	return nil
}

// frame reads the next frame, of which the tail has announced a number of bytes.
func (r *Receiver) frame(announced int, f func(lane.Frame) error) error {
	at := int(r.at % uint64(r.size))
	left := r.size - at
	if left < lane.HeaderBytes { // a gap
		if announced < left {
			return fmt.Errorf("%w: the tail is within the last %d bytes of the ring", ErrPeer, left)
		}
		r.at += uint64(left)
		return nil
	}
	mem := r.ring.Bytes()[at:r.size]
	copy(r.head[:], mem)
	size, kind, err := lane.Head(r.head[:], min(left, announced))
	switch {
	case err != nil:
	case kind == lane.Pad && size != left:
		err = fmt.Errorf("a pad of %d bytes, %d before the end of the ring", size, left)
	case kind != lane.Pad && size > lane.MaxFrame(r.size):
		err = fmt.Errorf("a frame of %d bytes, in a ring of %d at most %d", size, r.size, lane.MaxFrame(r.size))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPeer, err)
	}
	b := r.head[:]
	if size > len(b) && kind != lane.Pad { // Entries keep parts of it.
		b = make([]byte, size)
		copy(b[copy(b, r.head[:]):], mem[len(r.head):size])
	}
	is, err := lane.Decode(b)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPeer, err)
	}
	r.at += uint64(size)
	switch kind {
	case lane.Pad:
		return nil
	case lane.Entries:
		whole, done, err := r.batch.Add(is)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrPeer, err)
		}
		if !done {
			return nil
		}
		is = whole
	}
	return f(is)
}

// Acknowledge writes the line. Consumed is the receiver's. The zero Ack says Consumed alone,
// beside what was said before.
func (r *Receiver) Acknowledge(a lane.Ack) error {
	if a == (lane.Ack{}) {
		a = r.last
	}
	r.last = a
	a.Consumed = r.consumed.Load()
	slot, err := r.post.slot()
	if err != nil {
		return r.why(err)
	}
	at := slot * lane.AckBytes
	a.Put(r.sources.Bytes()[at:])
	r.wr[0] = rdma.WorkRequest{
		Op: rdma.OpWriteImm, Local: rdma.Buffer{Region: r.sources, Offset: at, Len: lane.AckBytes}, Remote: r.line,
	}
	return r.why(r.post.post(r.wr[:]))
}

func (r *Receiver) why(err error) error {
	if err != nil && r.post.ctx.Err() != nil {
		return ErrStopped
	}
	return err
}

// Stop revokes the ring. Read then returns, after what is in it. No peer can delay it.
func (r *Receiver) Stop() {
	_ = r.ring.Revoke() // Its error changes nothing: Close frees the memory.
	r.stopped.Store(true)
	r.end()
}

// Close frees the lane. Read and Acknowledge have returned.
func (r *Receiver) Close() {
	r.end()
	closeAll(r.post.qp, r.events.cq, r.post.cq, r.ring, r.sources)
}

// closeAll closes what was made, in order: the queue pair before what it uses.
func closeAll(qp rdma.QueuePair, rest ...interface{ Close() error }) {
	if qp != nil {
		_ = qp.Close()
	}
	for _, c := range rest {
		if c != nil {
			_ = c.Close()
		}
	}
}
