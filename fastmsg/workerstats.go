package fastmsg

import (
	"sync/atomic"
	"time"
)

// WorkerStats counts the work of a Worker since its creation.
type WorkerStats struct {
	Requests, Responses uint64
	BytesIn, BytesOut   uint64        // payloads
	Busy                time.Duration // serving, not spinning or sleeping
	Spun                time.Duration // polling without finding work
	Sleeps              uint64        // times that it slept
	Batches             uint64        // turns
	Posted              uint64        // work requests for answers, and for returning room of requests
	Fetchable           uint64        // times that answers were left for a client to fetch
	Connections         int
	// Waiting is the number of requests that have arrived and are not
	// served yet, estimated from the unread bytes and the mean request size.
	Waiting int
}

// Add adds the counts of another worker.
func (s *WorkerStats) Add(o WorkerStats) {
	s.Requests += o.Requests
	s.Responses += o.Responses
	s.BytesIn += o.BytesIn
	s.BytesOut += o.BytesOut
	s.Busy += o.Busy
	s.Spun += o.Spun
	s.Sleeps += o.Sleeps
	s.Batches += o.Batches
	s.Posted += o.Posted
	s.Fetchable += o.Fetchable
	s.Connections += o.Connections
	s.Waiting += o.Waiting
}

// counts are the counters of the loop. Only Worker's methods below change
// them.
type counts struct {
	requests, responses, bytesIn, bytesOut, sleeps, batches, posted, fetchable uint64

	busy, polled time.Duration
}

// published is a copy of counts for other goroutines. Only the loop stores
// to it, once per turn.
type published struct {
	requests, responses, bytesIn, bytesOut, sleeps, batches, posted, fetchable atomic.Uint64

	busy, polled         atomic.Int64
	busySince            atomic.Int64 // ns on the worker's clock, 0: idle
	connections, waiting atomic.Int64
}

func (w *Worker) countRequest(payload int) {
	w.count.requests++
	w.count.bytesIn += uint64(payload)
}

func (w *Worker) countResponse(payload int) {
	w.count.responses++
	w.count.bytesOut += uint64(payload)
}

// countSleep and countPolled publish at once, since no turn follows soon.
func (w *Worker) countSleep() {
	w.count.sleeps++
	w.stats.sleeps.Store(w.count.sleeps)
}

func (w *Worker) countPolled(d time.Duration) {
	w.count.polled += d
	w.stats.polled.Store(int64(w.count.polled))
}

// account updates unread after a change of c's ring.
func (w *Worker) account(c *Conn) {
	n := c.in.unread()
	w.unread += n - c.place.unread
	c.place.unread = n
}

// beginBusy and endBusy are called when a turn begins and ends.
func (w *Worker) beginBusy(from time.Time) {
	w.stats.busySince.Store(from.UnixNano())
	w.count.batches++
}

func (w *Worker) endBusy(from, to time.Time) {
	w.count.busy += to.Sub(from)
	w.publish()
	w.stats.busySince.Store(0)
}

func (w *Worker) publish() {
	c, p := &w.count, &w.stats
	p.requests.Store(c.requests)
	p.responses.Store(c.responses)
	p.bytesIn.Store(c.bytesIn)
	p.bytesOut.Store(c.bytesOut)
	p.sleeps.Store(c.sleeps)
	p.batches.Store(c.batches)
	p.posted.Store(c.posted)
	p.fetchable.Store(c.fetchable)
	p.busy.Store(int64(c.busy))
	p.polled.Store(int64(c.polled))
}

// publishWaiting estimates the number of waiting requests. The mean size is
// at least that of a header, so there is no division by zero.
func (w *Worker) publishWaiting() {
	n := int64(0)
	if w.unread > 0 {
		mean := uint64(headerBytes)
		if w.count.requests > 0 {
			mean += w.count.bytesIn / w.count.requests
		}
		n = int64(max(1, w.unread/mean))
	}
	w.stats.waiting.Store(n)
}

// Stats may be called from any goroutine. Busy includes the current turn up to
// now; the other counters lag behind by at most that turn.
func (w *Worker) Stats() WorkerStats {
	p := &w.stats
	s := WorkerStats{
		Requests: p.requests.Load(), Responses: p.responses.Load(),
		BytesIn: p.bytesIn.Load(), BytesOut: p.bytesOut.Load(),
		Sleeps: p.sleeps.Load(), Batches: p.batches.Load(),
		Posted: p.posted.Load(), Fetchable: p.fetchable.Load(),
		Connections: int(p.connections.Load()),
		Waiting:     int(p.waiting.Load()),
		Spun:        w.cq.Spun() + time.Duration(p.polled.Load()),
	}
	// The loop stores busy before it clears busySince. So if busySince is the
	// same before and after busy is loaded, the two belong together.
	for {
		since := p.busySince.Load()
		s.Busy = time.Duration(p.busy.Load())
		if p.busySince.Load() != since {
			continue
		}
		if since != 0 {
			s.Busy += max(0, time.Duration(w.cfg.Now().UnixNano()-since))
		}
		return s
	}
}
