package faulty

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// fate is what happens to one request.
type fate struct {
	full, torn, failed, drop bool
	late                     time.Duration
	random                   *rand.Rand // nil unless torn
}

func (f fate) needsWorker() bool { return f.torn || f.failed || f.drop }

// fate draws from the seed and the numbers of the queue pair and the request.
func (q *queuePair) fate(seq uint64, w rdma.WorkRequest) fate {
	o := &q.dev.opt
	// The golden ratio spreads consecutive numbers over the seeds.
	g := rand.New(rand.NewPCG(o.Seed^q.number*0x9e3779b97f4a7c15, seq))
	f := fate{full: g.Float64() < o.FullQueue,
		torn:   g.Float64() < o.TornRead && w.Op == rdma.OpRead && lines(w) > 1,
		failed: g.Float64() < o.FailedRequest,
		drop:   o.DropAfter > 0 && seq+1 >= o.DropAfter}
	if g.Float64() < o.LateCompletion {
		f.late = q.dev.delay(g)
	}
	if f.torn {
		f.random = g
	}
	return f
}

func (d *Device) delay(g *rand.Rand) time.Duration {
	return 1 + time.Duration(g.Int64N(int64(d.opt.MaxDelay)))
}

// waiting is a queued op.
type waiting struct {
	op   *op
	wr   rdma.WorkRequest
	fate fate
}

// work posts the queued ops in order, and ends when there are none.
func (q *queuePair) work() {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer func() { q.working = false }()
	for len(q.queued) > 0 {
		w := q.queued[0]
		switch {
		case q.err != nil:
			q.flushLineLocked()
			return
		case w.fate.drop:
			q.dev.hit(DroppedPeer)
			q.breakLocked(rdma.StatusPeerLost, errDropped)
			return
		case w.fate.failed:
			// Those before it are executed.
			for q.err == nil && q.ops[0] != w.op {
				q.changed.Wait()
			}
			if q.err == nil {
				q.dev.hit(FailedRequest)
				s := q.dev.opt.FailStatus
				c := rdma.Completion{Op: w.op.kind, Status: s, QP: q.inner}
				q.breakLocked(s, c.Err())
				return
			}
		default:
			q.queued = q.queued[1:]
			q.carryOutLocked(w)
		}
	}
}

func (q *queuePair) flushLineLocked() {
	for _, w := range q.queued {
		q.endLocked(w.op, w.op.left, rdma.StatusFlushed, 0)
	}
	q.queued = nil
	q.emitLocked()
}

// carryOutLocked posts one op, a torn one in pieces. It releases mu while it
// waits; requests posted meanwhile are queued after it.
func (q *queuePair) carryOutLocked(w waiting) {
	pieces := []rdma.WorkRequest{w.wr}
	if w.fate.torn {
		q.dev.hit(TornRead)
		pieces = tear(w.wr, q.dev.opt.MaxPieces, w.fate.random)
	}
	w.op.left = len(pieces)
	for i, p := range pieces {
		if i > 0 {
			q.mu.Unlock()
			q.dev.pause(w.fate.random)
			q.mu.Lock()
		}
		for q.err == nil {
			_, err := q.inner.Post([]rdma.WorkRequest{p})
			if err == nil {
				break
			}
			if !errors.Is(err, rdma.ErrQueueFull) {
				q.failLocked(err)
				break
			}
			q.changed.Wait()
		}
		if q.final {
			return // every op was dropped
		}
		if q.err != nil {
			q.endLocked(w.op, len(pieces)-i, rdma.StatusFlushed, 0)
			q.emitLocked()
			return
		}
	}
}

// lines is the number of lines that the remote range touches.
func lines(w rdma.WorkRequest) int {
	if w.Local.Len == 0 {
		return 0
	}
	const line = rdma.LineBytes
	return (int(w.Remote.Addr%line) + w.Local.Len + line - 1) / line
}

// tear cuts a read at remote line boundaries into 2 to most pieces (as far as
// it has lines) and shuffles them.
func tear(w rdma.WorkRequest, most int, g *rand.Rand) []rdma.WorkRequest {
	n := lines(w)
	most = max(2, min(most, n))
	var cuts []int // in bytes from the start
	first := rdma.LineBytes - int(w.Remote.Addr%rdma.LineBytes)
	for range 1 + g.IntN(most-1) {
		cuts = append(cuts, first+g.IntN(n-1)*rdma.LineBytes)
	}
	cuts = append(cuts, w.Local.Len)
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var pieces []rdma.WorkRequest
	from := 0
	for _, to := range cuts {
		p := w
		p.Local.Offset += from
		p.Local.Len = to - from
		p.Remote.Addr += uint64(from) // may overflow as the range did
		pieces = append(pieces, p)
		from = to
	}
	g.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
	return pieces
}

// pause lets other goroutines run: half of the time by yielding the processor
// once, half by a real delay.
func (d *Device) pause(g *rand.Rand) {
	if g.IntN(2) == 0 {
		runtime.Gosched()
		return
	}
	time.Sleep(time.Duration(g.Int64N(int64(d.opt.MaxPause))))
}
