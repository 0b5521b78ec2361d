package offload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/catfish-index/catfish/internal/rdma"
)

// maxTries bounds how often one block is read again before the walk
// gives up. A writer holds a node odd for well under a microsecond, so
// only a writer that was descheduled in the middle gets this far.
const maxTries = 1000

// eagerTries is how many repeats go out without yielding the processor.
const eagerTries = 4

// Run carries the walk t over regions, of which Ref.Region names one, until it
// ends, and adds its cost to st. It returns ErrRestart if Visit asked for it,
// ctx's error if ctx is done, ErrStopped (StopBy), ErrRef, the Traversal's own
// error, or an error that wraps ErrChannel if the connection is lost. regions
// may be used again when Run has returned: with a caller that keeps them in a
// field of its own, Run allocates nothing.
func (ch *Channel) Run(ctx context.Context, regions []rdma.Remote, t Traversal, st *Stats) error {
	if ch.failed != nil {
		return ch.failed
	}
	w := walk{Channel: ch, ctx: ctx, regions: regions, t: t, st: st}
	err := w.run()
	if w.hops > 0 {
		st.RoundTrips += w.hops
	}
	return err
}

// walk is one Run.
type walk struct {
	*Channel
	ctx     context.Context
	regions []rdma.Remote
	t       Traversal
	st      *Stats
	out     int    // reads in flight
	hops    uint64 // longest chain so far
	err     error  // first failure: nothing new is posted, slots drain
}

// lookEvery is how many batches of completions pass between checks of
// the context: a walk whose reads are always complete never waits.
const lookEvery = 64

func (w *walk) run() error {
	for turn := 1; ; turn++ {
		if w.err == nil && turn%lookEvery == 0 {
			if err := w.ctx.Err(); err != nil {
				w.fail(err)
			}
		}
		if w.err == nil && w.stop != nil && w.stop.Load() {
			w.fail(ErrStopped)
		}
		if w.err == nil {
			w.issue()
		}
		if w.out == 0 {
			return w.err
		}
		n := w.cq.Poll(w.done[:])
		if n == 0 {
			// Reads in flight cannot be cancelled. After ctx is done
			// the slots still have to return, within the provider's
			// PeerTimeout.
			ctx := w.ctx
			if w.err != nil {
				ctx = context.Background()
			}
			if err := w.cq.Wait(ctx, -1); err != nil {
				if errors.Is(err, rdma.ErrClosed) {
					w.failed = fmt.Errorf("%w: %w", ErrChannel, err)
					return w.failed
				}
				w.fail(err)
			}
			continue
		}
		for i := range w.done[:n] {
			w.complete(&w.done[i])
			w.done[i].QP = nil
		}
	}
}

func (w *walk) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// lose notes the channel's failure. One cause flushes everything else, the
// receives too, and may be polled after them: the cause is the error to
// report.
func (w *walk) lose(status rdma.Status, err error) {
	if w.failed != nil && !w.vague {
		return
	}
	vague := w.err != nil && errors.Is(w.err, ErrChannel)
	w.failed, w.vague = fmt.Errorf("%w: %w", ErrChannel, err), status == rdma.StatusFlushed
	if vague {
		w.err = w.failed
	}
	w.fail(w.failed)
}

// issue posts every block that the traversal knows, up to the window.
func (w *walk) issue() {
	w.wrs = w.wrs[:0]
	for len(w.free) > 0 {
		ref, ok, err := w.t.Next()
		if err != nil {
			w.fail(err)
		}
		if err != nil || !ok {
			break
		}
		if int64(ref.Len) > int64(w.block) || ref.Len == 0 {
			w.fail(fmt.Errorf("%w: %d bytes, want 1..%d", ErrRef, ref.Len, w.block))
			break
		}
		if int(ref.Region) >= len(w.regions) {
			w.fail(fmt.Errorf("%w: region %d of %d", ErrRef, ref.Region, len(w.regions)))
			break
		}
		s := w.free[len(w.free)-1]
		w.free = w.free[:len(w.free)-1]
		w.slots[s] = slot{ref: ref}
		w.wrs = w.read(w.wrs, s)
		if w.window == 1 {
			w.hops++ // single-issue: each read waits for the one before
		} else {
			w.hops = max(w.hops, uint64(ref.Hop))
		}
	}
	w.post()
}

// firstCopy marks the ID of the first read of two. It is unsignaled: the
// second's completion stands for both.
const firstCopy = 1 << 16

// read appends the requests that fill slot s.
func (w *walk) read(wrs []rdma.WorkRequest, s uint16) []rdma.WorkRequest {
	ref := &w.slots[s].ref
	wr := rdma.WorkRequest{
		Op: rdma.OpRead, ID: uint64(s),
		Local:  rdma.Buffer{Region: w.region, Offset: int(s) * w.block, Len: int(ref.Len)},
		Remote: w.regions[ref.Region].At(ref.Offset),
	}
	if w.twice {
		first := wr
		first.ID |= firstCopy
		first.Unsignaled = true
		first.Local.Offset += len(w.slots) * w.block
		wrs = append(wrs, first)
	}
	return append(wrs, wr)
}

// bytes returns the block read into slot s; ok is false if its lines
// may be torn.
func (w *walk) bytes(s uint16) (b []byte, ok bool) {
	off, n := int(s)*w.block, int(w.slots[s].ref.Len)
	mem := w.region.Bytes()
	b = mem[off : off+n]
	if !w.twice {
		return b, true
	}
	off += len(w.slots) * w.block
	return b, bytes.Equal(b, mem[off:off+n])
}

// post hands w.wrs over; requests that were not taken free their slots.
func (w *walk) post() {
	if len(w.wrs) == 0 {
		return
	}
	n, err := w.qp.Post(w.wrs)
	for _, wr := range w.wrs[:n] {
		w.st.Reads++
		w.st.Bytes += uint64(wr.Local.Len)
		if wr.ID < firstCopy {
			w.out++
		}
	}
	for _, wr := range w.wrs[n:] {
		if wr.ID < firstCopy {
			w.free = append(w.free, uint16(wr.ID))
		}
	}
	if err != nil {
		// SendDepth is the number of slots, so a full queue is a fault too.
		if !errors.Is(err, rdma.ErrBadRequest) {
			w.failed = fmt.Errorf("%w: %w", ErrChannel, err)
			err = w.failed
		}
		w.fail(err)
	}
}

func (w *walk) complete(c *rdma.Completion) {
	if err := c.Err(); err != nil {
		w.lose(c.Status, err)
	}
	if c.Op != rdma.OpRead || c.ID >= firstCopy {
		return // a failed first copy: the second follows
	}
	s := uint16(c.ID)
	w.out--
	sl := &w.slots[s]
	if w.err != nil {
		w.free = append(w.free, s)
		return
	}
	v, err := Retry, error(nil)
	if b, ok := w.bytes(s); ok {
		v, err = w.t.Visit(sl.ref, b)
	}
	switch {
	case err != nil:
		w.fail(err)
	case v == Restart:
		w.st.Restarts++
		w.fail(ErrRestart)
	case v == Retry:
		if w.again(s) {
			return
		}
	}
	w.free = append(w.free, s)
}

// again reads a torn block once more, after a pause with jitter if earlier
// repeats did not help: the writer may need this very processor.
func (w *walk) again(s uint16) bool {
	sl := &w.slots[s]
	sl.tries++
	w.st.Torn++
	if sl.tries > maxTries {
		w.fail(fmt.Errorf("%w: offset %d after %d reads", ErrTorn, sl.ref.Offset, sl.tries))
		return false
	}
	if err := w.ctx.Err(); err != nil {
		w.fail(err)
		return false
	}
	if sl.tries > eagerTries {
		for range 1 + rand.IntN(4) {
			runtime.Gosched()
		}
	}
	w.wrs = w.read(w.wrs[:0], s)
	w.post() // frees the slot itself when it cannot post
	return true
}
