package policy

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Algorithm 1 of the paper (section IV-B), the binary exponential
// back-off of a client that finds the server busy:
//
//	if now - t0 > Inv and a heartbeat arrived:
//	    U = predUtil(heartbeats); clear; t0 = now      else U = 0
//	if U > T and r_off <= r_busy*N:
//	    r_busy++;  r_off = rand()%N + (r_busy-1)*N
//	else:
//	    r_busy = 0
//	if r_off > 0:  r_off--, offload                    else fast messaging
//
// To the letter, U is 0 for each of the hundreds of searches between two
// heartbeats, so the next one clears r_busy and the window never grows
// beyond rand()%N, though the text says that it doubles as clients
// compete. "paper" therefore runs the second if only when a heartbeat
// was taken; "paper-literal" runs it always. No heartbeat is not "busy":
// the network may be the bottleneck, and offloading would load it more.
//
// "paper" also takes a heartbeat when half of Inv has passed since the
// last. They come every Inv by themselves, and t0 = now can only shift
// later against them: whatever delays one judgement delays all that
// follow, in the end by nearly a whole interval.

// Parameters of section V-A.
const (
	backoffUnit      = 8    // N
	backoffThreshold = 0.95 // T
)

type backoff struct {
	literal bool
	rand    *rand.Rand
	t0      time.Time
	busy    int     // r_busy
	left    int     // r_off
	util    float64 // last U judged
	peak    float64 // highest U judged
	pending bool    // a heartbeat came that was not due
}

func newBackoff(seed uint64, literal bool) *backoff {
	return &backoff{literal: literal, rand: rand.New(rand.NewPCG(seed, 0x6361746669736821))}
}

func (b *backoff) Name() string {
	if b.literal {
		return "paper-literal"
	}
	return "paper"
}

// Plan is Algorithm 1, for as many searches as nothing but a heartbeat can
// change their path: the r_off searches to offload, or all until a heartbeat.
// predUtil is the latest value, as in the paper.
func (b *backoff) Plan(a *Ask) Plan {
	b.left = max(b.left-a.Begun, 0)
	if b.literal && a.Begun > 1 {
		b.busy = 0 // The second search found U = 0.
	}
	due := a.Load.Interval
	if !b.literal {
		due /= 2
	}
	b.pending = b.pending || a.Fresh
	u, taken := 0.0, b.pending && a.Now.Sub(b.t0) > due
	if taken {
		u, b.pending, b.t0, b.util = a.Load.CPU, false, a.Now, a.Load.CPU
		b.peak = max(b.peak, u)
	}
	if taken || b.literal {
		if u > backoffThreshold && b.left <= b.busy*backoffUnit {
			b.busy++
			b.left = b.rand.IntN(backoffUnit) + (b.busy-1)*backoffUnit
		} else {
			b.busy = 0
		}
	}
	p := Plan{Heartbeat: true}
	if b.left > 0 {
		p.Share, p.Searches = 1, b.left
	}
	if b.pending {
		p.Searches = 1 // It may be due at the next one.
	}
	return p
}

// Why tells the back-off's state.
func (b *backoff) Why() string {
	return fmt.Sprintf("the server's CPU was %.0f %% busy when last judged, the threshold is %.0f %%; back-off %d, %d more searches to offload",
		100*b.util, 100*backoffThreshold, b.busy, b.left)
}

func (b *backoff) State() State {
	return State{Busy: b.busy, Left: b.left, Utilisation: b.util, Peak: b.peak}
}
