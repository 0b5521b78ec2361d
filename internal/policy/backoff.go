package policy

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
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
// last. They come every Inv anyway, and t0 = now can only shift later
// against them: whatever delays one judgement delays all that follow,
// in the end by nearly a whole interval.

// ErrBackoff is wrapped by errors about parameters of Algorithm 1.
var ErrBackoff = errors.New("bad parameter of Algorithm 1")

// Backoff are the parameters that the paper calls configurable in Algorithm 1.
// The zero value is the paper's (section V-A).
type Backoff struct {
	// N is by how many searches the window grows with each heartbeat that
	// finds the server busy, 0: 8; at most 1,048,576.
	N int `json:"n"`
	// T is the utilisation above which the server is busy, 0: 0.95; at most
	// 1, which it never exceeds.
	T float64 `json:"t"`
	// Predictor, empty: Latest.
	Predictor Predictor `json:"predictor"`
}

// The paper's values (section V-A), and a limit against typing errors.
const (
	paperN = 8
	paperT = 0.95
	mostN  = 1 << 20
)

// WithDefaults is b with the paper's values in place of zeros.
func (b Backoff) WithDefaults() Backoff {
	if b.N == 0 {
		b.N = paperN
	}
	if b.T == 0 {
		b.T = paperT
	}
	if b.Predictor == "" {
		b.Predictor = Latest
	}
	return b
}

// IsPaper reports whether b has the paper's values.
func (b Backoff) IsPaper() bool { return b.WithDefaults() == Backoff{}.WithDefaults() }

// Validate checks the limits. Errors wrap ErrBackoff.
func (b Backoff) Validate() error {
	b = b.WithDefaults()
	switch {
	case b.N < 1 || b.N > mostN:
		return fmt.Errorf("%w: N is %d, want 1 to %d", ErrBackoff, b.N, mostN)
	case !(b.T > 0 && b.T <= 1): // Also if it is not a number.
		return fmt.Errorf("%w: T is %v, want more than 0, at most 1", ErrBackoff, b.T)
	case !b.Predictor.known():
		return fmt.Errorf("%w: predictor %q, want one of %s", ErrBackoff, b.Predictor, strings.Join(Predictors(), ", "))
	}
	return nil
}

func (b Backoff) String() string {
	b = b.WithDefaults()
	return fmt.Sprintf("N = %d, T = %.4g %%, predictor %s", b.N, 100*b.T, b.Predictor)
}

type backoff struct {
	Backoff
	literal bool
	rand    *rand.Rand
	t0      time.Time
	busy    int     // r_busy
	left    int     // r_off
	util    float64 // last U judged
	peak    float64 // highest U judged
	beats   beats   // that came and were not judged yet
}

func newBackoff(seed uint64, with Backoff, literal bool) *backoff {
	return &backoff{
		Backoff: with.WithDefaults(), literal: literal,
		rand: rand.New(rand.NewPCG(seed, 0x6361746669736821)),
	}
}

// Plan is Algorithm 1, for the searches whose path only a heartbeat can
// change: the r_off searches to offload, or all until a heartbeat.
func (b *backoff) Plan(a *Ask) Plan {
	b.left = max(b.left-a.Begun, 0)
	if b.literal && a.Begun > 1 {
		b.busy = 0 // The second search found U = 0.
	}
	due := a.Load.Interval
	if !b.literal {
		due /= 2
	}
	if a.Fresh {
		b.beats.add(a.Now, a.Load.CPU)
	}
	u, taken := 0.0, b.beats.n > 0 && a.Now.Sub(b.t0) > due
	if taken {
		u = b.beats.predict(b.Predictor, a.Now)
		b.beats.clear()
		b.t0, b.util, b.peak = a.Now, u, max(b.peak, u)
	}
	if taken || b.literal {
		if u > b.T && b.left <= b.busy*b.N {
			b.busy++
			b.left = b.rand.IntN(b.N) + (b.busy-1)*b.N
		} else {
			b.busy = 0
		}
	}
	p := Plan{Heartbeat: true}
	if b.left > 0 {
		p.Share, p.Searches = 1, b.left
	}
	if b.beats.n > 0 {
		p.Searches = 1 // It may be due at the next one.
	}
	return p
}

// Describe describes the back-off's state.
func (b *backoff) Describe() Description {
	d := Description{
		Name:  "paper",
		State: State{Busy: b.busy, Left: b.left, Utilisation: b.util, Peak: b.peak},
		Why: fmt.Sprintf("the server's CPU was %.0f %% busy when last judged, the threshold is %.0f %%; back-off %d, %d more searches to offload",
			100*b.util, 100*b.T, b.busy, b.left),
	}
	if b.literal {
		d.Name = "paper-literal"
	}
	return d
}
