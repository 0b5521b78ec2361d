// Package faulty wraps a device of any provider and makes events that RDMA
// permits happen often: late completions, reads whose lines come from
// different moments, any order between queue pairs, full queues, waits that
// return late, peers that vanish, requests that fail. It never does what the
// verbs forbid: a reliable connection loses no completion and keeps its
// order, so the wrapped device passes the conformance suite (package
// rdmatest) at any rate of the harmless faults.
//
// # Reproducing
//
// Whether the n-th request posted on the k-th queue pair of a device is torn,
// late or failed is drawn from Options.Seed, k and n alone, never from time.
// Two runs that post the same requests make the same decisions; how the
// goroutines of the program interleave with them is up to the scheduler.
//
// # How it works
//
//	caller          faulty                              provider
//	Post      -->   queue pair: ops in order   -----+-> Post (at once)
//	                                                |
//	                worker: torn reads, piece by ---+
//	                piece; failures; requests that
//	                came after them meanwhile
//	Poll/Wait <--   queue: per queue pair, each <-- pump: Wait, Poll
//	                completion from its time on
//
// A request that suffers no fault, and finds no request waiting before it,
// goes to the provider in the caller's Post. Otherwise it is queued for the
// queue pair's worker, a goroutine that exists while that queue is not empty,
// so that the order of the requests is preserved. Every inner request is
// signaled, so that the outcome of each is known when a peer is dropped; the
// completions of the caller's unsignaled ones are filtered out again. One
// goroutine per completion queue, the pump, takes what the provider
// completes.
//
// Lock order: Device.mu, queuePair.mu, completionQueue.mu. The
// provider's Post is called with queuePair.mu held, its Wait, Poll and
// Close with none.
package faulty

import (
	"fmt"
	"math"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// Options says how often each fault strikes. The zero value injects nothing.
// Rates are probabilities from 0 to 1 for each request (torn, late, full,
// failed), event (late) or Wait (held); values outside are clamped, and NaN
// counts as 0.
type Options struct {
	Seed uint64

	// LateCompletion delays a completion or event by up to MaxDelay
	// (0: 200 us). Later ones of its queue pair wait for it.
	LateCompletion float64
	MaxDelay       time.Duration

	// Reorder polls the queue pairs that have something to report in random
	// order instead of that of arrival, at this rate per completion.
	Reorder float64

	// TornRead executes a Read as up to MaxPieces (0: 4) reads of whole
	// lines, in random order, with pauses up to MaxPause (0: 100 us)
	// between them in which other goroutines run.
	TornRead  float64
	MaxPieces int
	MaxPause  time.Duration

	// FullQueue makes a Post accept fewer requests than it could and return
	// ErrQueueFull. The next Post on the queue pair is not affected.
	FullQueue float64

	// FailedRequest fails a request with FailStatus (StatusOK:
	// StatusPeerLost) instead of executing it; the queue pair fails.
	FailedRequest float64
	FailStatus    rdma.Status

	// DropAfter drops the peer when a queue pair has had this many
	// requests (0: never).
	DropAfter uint64

	// HeldWait makes a Wait that has something to report return up to
	// MaxDelay later.
	HeldWait float64
}

const (
	defaultDelay  = 200 * time.Microsecond // a few round trips
	defaultPause  = 100 * time.Microsecond // many writes by the target
	defaultPieces = 4
	// maxPieces bounds the inner send depth, which must hold every piece of
	// every request: cards support DefaultDepth times this.
	maxPieces = 16
)

// withDefaults sets defaults for zeros and clamps the rest to its range.
func (o Options) withDefaults() Options {
	for _, rate := range []*float64{&o.LateCompletion, &o.Reorder, &o.TornRead,
		&o.FullQueue, &o.FailedRequest, &o.HeldWait} {
		if math.IsNaN(*rate) {
			*rate = 0
		}
		*rate = max(0, min(1, *rate))
	}
	if o.MaxDelay <= 0 {
		o.MaxDelay = defaultDelay
	}
	if o.MaxPause <= 0 {
		o.MaxPause = defaultPause
	}
	if o.MaxPieces <= 0 {
		o.MaxPieces = defaultPieces
	}
	o.MaxPieces = min(o.MaxPieces, maxPieces)
	if o.FailStatus == rdma.StatusOK {
		o.FailStatus = rdma.StatusPeerLost
	}
	return o
}

// Fault is a named fault point.
type Fault uint8

const (
	LateCompletion Fault = iota
	Reorder
	TornRead
	FullQueue
	FailedRequest
	DroppedPeer
	HeldWait
	numFaults
)

var faultNames = [numFaults]string{"late completion", "reorder", "torn read",
	"full queue", "failed request", "dropped peer", "held wait"}

func (f Fault) String() string {
	if f < numFaults {
		return faultNames[f]
	}
	return fmt.Sprintf("fault %d", uint8(f))
}
