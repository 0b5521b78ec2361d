//go:build ablate

package policy

import (
	"sync"
	"time"
)

// aimd is the plain base line that policy cost is measured against: it probes
// both ends, an epoch each, begins at the better one, and then moves its share
// by additive increase and multiplicative decrease. The share of offloading
// grows by aimdMore in each epoch that did not finish fewer searches than the
// best of late, and shrinks to aimdLess of itself otherwise.
type aimd struct {
	mu     sync.Mutex
	share  float64
	epochs int
	best   float64 // searches/s, decays
	probed [2]float64
	end    int64
	from   uint64
	fromAt int64
}

const (
	aimdEpoch = int64(10 * time.Millisecond)
	aimdMore  = 0.02
	aimdLess  = 0.7
	aimdSlack = 0.98
	aimdDecay = 0.999
)

func init() {
	schemes = append(schemes, Scheme{
		Name: "aimd", Doc: "base line: both ends probed, then additive increase, multiplicative decrease", Cached: true,
		New: func(_ uint64, g *Group) Policy { return g.policy("aimd", func() Policy { return new(aimd) }) },
	})
}

func (a *aimd) Name() string { return "aimd" }

func (a *aimd) State() State {
	a.mu.Lock()
	defer a.mu.Unlock()
	return State{Share: a.share}
}

func (a *aimd) Plan(q *Ask) Plan {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := q.Now.UnixNano()
	if now >= a.end || a.end-now > aimdEpoch {
		done := q.Group.Finished()
		if a.fromAt > 0 {
			a.finished(float64(done-a.from) / float64(now-a.fromAt) * 1e9)
		}
		a.from, a.fromAt, a.end = done, now, (now/aimdEpoch+1)*aimdEpoch
	}
	return Plan{Share: a.share, Until: q.Now.Add(time.Duration(a.end - now))}
}

// finished takes the throughput of an epoch.
func (a *aimd) finished(rate float64) {
	switch a.epochs++; {
	case a.epochs <= 2: // for the caches
		a.share = float64(a.epochs & 1)
	case a.epochs <= 4:
		a.probed[a.epochs&1] = rate // 3 was all by messages, 4 all offloaded
		a.share = float64(a.epochs & 1)
		if a.epochs == 4 {
			if a.share = 0; a.probed[0] > a.probed[1] {
				a.share = 1
			}
			a.best = max(a.probed[0], a.probed[1])
		}
	case rate >= a.best*aimdSlack:
		a.best = max(a.best, rate)
		a.share = min(a.share+aimdMore, 1)
	default:
		a.best *= aimdDecay
		a.share *= aimdLess
	}
}
