package policy

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// Policy "cost": offload the share of searches with which most searches
// finish. docs/policy.md derives it and names its sources.
//
//	share, the control q         finished searches per time
//	  1 |                            |        .-^-.
//	    |      _.-+-.+-              |     .-'     '.
//	    |   .-'                      |  .-'          '
//	  0 +-----------------> time     +-----------------> q
//
// Nobody tells a client what a search costs the server, the network and the
// cores that clients share; how many searches finish tells all of it. So
// all clients offload a little more than q in one epoch and a little less in
// another, in the same ones, since epochs are cut from the clock; each process
// counts what it finished in both, and moves its q, which its clients share,
// towards the better. Were each client to try at its own times it would see
// only what is good for itself, which is to push its work on to whoever waits.
// As far as counts say nothing (too few, or as many either way), the lower
// latency decides.
//
// A search is offloaded with a probability, by its client's own dice: the
// higher q is, and the fewer nodes it would read compared with others. Reads
// move more bytes than answers, and a message costs a server the same
// however little it asks: so it is the small ones that gain by offloading,
// and large ones that are answered when the network is full.
//
// Such a climb ends on the nearest hill. At the beginning, when the load has
// changed, and seldom at an end, a pair goes the whole way: one epoch all by
// fast messaging, one all offloaded (a leap).
//
// Invariants: lo() <= q <= hi(); all state is finite, whatever heartbeats,
// estimates and outcomes say (costInput clamps them).
//
// Files: cost.go chooses; costepoch.go counts; costclimb.go moves q; costparams.go
// and costmean.go are what they share.

// cost is one client's part.
type cost struct {
	*climb
	dice uint64 // of splitmix

	// The next search's dice, if they were thrown.
	thrown bool
	dices  float64 // from [0, 1)
	look   bool    // its size is wanted
	retry  Path    // or costNoRetry

	// Its own calls, of one search or many, for Skip.
	in       int64 // the epoch
	mine     int   // finished in it
	perEpoch int   // in the one before, if there were some
}

// climb is what all clients of a process share, if there is a census; its
// lock is taken by the methods of Policy and the like, after the chooser's.
type climb struct {
	mu  sync.Mutex
	off costRule // the one taken out

	// The control, in shares of a mean search.
	q       float64
	step    float64
	sign    float64  // of the epoch: +1, -1
	delta   float64  // half the difference of this pair
	leap    bool     // from one end to the other
	leapt   bool     // since the load has changed
	leaptAt int64    // when the latest began
	warm    bool     // one was made, for what is in caches after it
	levels  costMean // ln of what finished in an epoch, of the latest pairs but leaps
	shifted int      // pairs in a row that differ from those
	early   int      // how many it may begin before one is judged
	proofs  costMean // gains of the latest leaps, if the first was one
	up      bool     // which end they are of: all offloaded
	between bool     // they began from no end
	quiet   int64    // heartbeats until then tell of a leap

	// Sizes of searches: ln of their work by that of the smallest.
	size costMean

	// Epochs.
	length       int64   // ns
	epoch        int64   // number of the one under way, by length
	whole        bool    // seen from its beginning
	first        float64 // finished in the pair's first epoch, -1: unknown
	finished     int     // in this one, as far as the policy was told
	census       *Census // or nil: there is this client alone
	marked       bool    // counting has begun in this epoch
	from         uint64  // the census then
	fromAt       time.Time
	unpaired     int // since the last step, or rest
	unpairedFrom int64

	// What pairs told: sums with a memory.
	slope, slopes, noise float64
	spread               costMean // of a pair's difference, in deviations

	ways    [2]costWay
	results costMean
	any     costMean // latency, of both ways
	now     int64    // of the latest outcome or heartbeat
	late    int      // outcomes in a row that are of long before
	other   [2]int   // searches since a way was taken last

	util, wait costMean
	odd        int // heartbeats in a row that differ from those
	peak       float64
	beat       Load
	beatAt     int64
	toward     float64 // the last move
	run        int     // moves that went there, in a row
	rest       bool    // all searches go one way until then
	until      int64
	gone       float64 // latest moves, summed
	walked     float64 // the same without their signs
	leaning    float64 // the last pair's: latencies
	told       float64 // the last pair's: counts
	doubt      float64
}

func newCost(seed uint64) *cost {
	return &cost{climb: newClimb(), dice: seed*0x9e3779b97f4a7c15 + 0x636f7374}
}

func newClimb() *climb {
	return &climb{
		step: costFirst, sign: 1, delta: costWide, first: -1, gone: 1, walked: 1,
		length: int64(costEpoch), epoch: math.MinInt64, early: costEarly, leaptAt: math.MinInt64 / 2,
	}
}

func (c *cost) Name() string {
	if c.off != ruleNone {
		return "cost-no-" + costRules[c.off]
	}
	return "cost"
}

// Sizes carry small searches above the share of mean ones, by up to small,
// and large ones below, by about large. None is below 0.
func (c *climb) small() float64 { return costSize * min(c.size.mean, 2*c.size.dev) }

func (c *climb) large() float64 { return costSize * 3 * c.size.dev }

func (c *climb) width() float64 { return 1 + (c.small()+c.large())/2 }

func (c *climb) lo() float64 { return -c.small() + c.delta*c.width() }

func (c *climb) hi() float64 { return 1 + c.large() - c.delta*c.width() }

// Choose is for a search of which nothing is known.
func (c *cost) Choose(now func() time.Time, load *Load, fresh bool) (Path, bool) {
	return c.ChooseFor(now, load, fresh, &Estimate{})
}

// Glance throws the dice. If even the smallest of searches would not be
// offloaded, there is no need to know its size, but now and then, so that
// what sizes there are is known.
func (c *cost) Glance() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rest {
		return false
	}
	if !c.thrown {
		c.throw()
	}
	_, sure := c.sure()
	return !sure || c.off == ruleGlance
}

// sure is the way of the next search, if that does not depend on its size.
func (c *cost) sure() (way Path, ok bool) {
	switch {
	case c.leap && c.sign > 0:
		return Offload, true
	case c.leap:
		return FastMessaging, true
	case c.retry == Offload || (c.look || c.size.n < costFew) && c.off != ruleSizes:
		return 0, false
	}
	return FastMessaging, c.dices >= c.tried()+c.small()
}

// tried is the share of this epoch.
func (c *climb) tried() float64 { return c.q + c.sign*c.delta*c.width() }

// Skip throws dice until one might offload its search, or shows the size. In
// a leap all go one way. That a leap's two ways are asked about alike is what
// makes them comparable.
func (c *cost) Skip() (n int, way Path) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rest || c.off == ruleSkip {
		return 0, 0
	}
	most := min(c.perEpoch/costSkip, costSkips)
	if c.leap { // They may take longer by the other way than they did.
		most = min(most, costSkipLeap)
	}
	for ; n < most; n++ {
		if !c.thrown {
			c.throw()
		}
		w, ok := c.sure()
		if !ok {
			break
		}
		way, c.thrown = w, false
	}
	if n > 0 {
		c.other[way] = 0
		c.other[1-way] += n
	}
	return n, way
}

// restsAt is the way of all searches while q rests at an end.
func (c *climb) restsAt() Path {
	if c.q > 0.5 {
		return Offload
	}
	return FastMessaging
}

// Settled: while it rests.
func (c *cost) Settled() (Path, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.restsAt(), c.rest
}

// Rest is what is left of it.
func (c *cost) Rest(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(c.left(now.UnixNano()))
}

// left is how long it rests yet, none if that is longer than any rest: the
// clock was set back.
func (c *climb) left(now int64) int64 {
	left := c.until - now
	if left > 4*costDeep*2*c.length {
		return 0
	}
	return max(left, 0)
}

// throw is for one search.
func (c *cost) throw() {
	r := c.random()
	c.dices, c.look, c.retry = float64(r>>11)/(1<<53), r%costLook == 0, costNoRetry
	for w := range c.other {
		if c.off != ruleRetry && c.other[w] >= costRetry && c.now-c.ways[w].last > int64(costForgotten) && c.random()%costOdds == 0 {
			c.retry = Path(w)
		}
	}
	c.thrown = true
}

// ChooseFor throws the dice, unless Glance has. It asks for the time of
// heartbeats only.
func (c *cost) ChooseFor(now func() time.Time, load *Load, fresh bool, e *Estimate) (Path, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fresh {
		c.tick(now().UnixNano())
		c.hear(load)
	}
	if c.rest {
		return c.restsAt(), true
	}
	if c.leap {
		c.thrown = false
		if c.sign > 0 {
			return Offload, true
		}
		return FastMessaging, true
	}
	if !c.thrown {
		c.throw()
	}
	p := c.tried()
	// Below a missing node there are unknown ones: it counts twice. Searches
	// that are made together count each by itself.
	reads := costInput(float64(e.Leaves)+2*float64(e.Missing), 1<<20) / float64(max(e.Searches, 1))
	if reads > 0 && c.off != ruleSizes {
		ln := max(0, costLn((costFixed+reads)*(1/(costFixed+1.0))))
		c.size.add(ln, 256)
		p += min(costSize*(c.size.mean-ln), c.small())
	}
	way := FastMessaging
	if c.dices < p {
		way = Offload
	}
	if c.retry != costNoRetry {
		way = c.retry
	}
	c.thrown = false
	c.other[way] = 0
	c.other[1-way]++
	return way, true
}

// hear takes a heartbeat, one in an interval, whichever client it came to. One
// that differs much from those before says that what was learnt is of another
// time.
func (c *climb) hear(load *Load) {
	if c.beat.Seq > 0 && c.now >= c.beatAt && c.now-c.beatAt < int64(load.Interval)/2 {
		return
	}
	util := costInput(max(costInput(load.CPU, 1), costInput(load.Busy, 1)), 1)
	wait := float64(min(load.Waiting, 1<<20))
	c.beat, c.beatAt = *load, c.now
	if c.now < c.quiet || c.off == ruleBeats {
		return
	}
	if c.util.n > 0 && (math.Abs(util-c.util.mean) > costJump ||
		wait > costMany+4*c.wait.mean || c.wait.mean > costMany+4*wait) {
		if c.odd++; c.odd < costOdd {
			return
		}
		leaps := c.early
		if c.forget(); c.q > c.lo()+costMiddle && c.q < c.hi()-costMiddle {
			c.early = leaps // What the server has to do changes with q itself.
		}
		c.util, c.wait = costMean{}, costMean{}
	}
	c.odd = 0
	c.util.add(util, 8)
	c.wait.add(wait, 8)
	c.peak = max(c.peak, util)
}

// forget lets the next pairs decide alone, by longer steps, and has a leap
// made.
func (c *climb) forget() {
	c.rest, c.leapt, c.proofs, c.levels = false, false, costMean{}, costMean{}
	if c.off != ruleEarly && c.off != ruleProbes && c.now-c.leaptAt > 2*costAgain*c.length {
		c.early = costEarly
	}
	c.slope, c.slopes, c.noise = 0, 0, 0
	c.step = max(c.step, costFirst)
	for i := range c.ways {
		c.ways[i].took.n = min(c.ways[i].took.n, 4)
	}
}

// Share of searches of mean size that are offloaded.
func (c *climb) share() float64 { return min(max(c.q, 0), 1) }

// State shows the share.
func (c *cost) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return State{Utilisation: c.util.mean, Peak: c.peak, Share: c.share()}
}

// Why is the last pair's finding.
func (c *cost) Why() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ways[0].took.n == 0 || c.ways[1].took.n == 0 {
		return "one way was not tried yet"
	}
	news := ""
	if c.beat.Seq > 0 && c.now-c.beatAt > costStale*int64(max(c.beat.Interval, 0)) {
		news = ", heartbeats are late"
	}
	return fmt.Sprintf("%.0f %% offloaded; each 1 %% more finishes %+.2f (+-%.2f) %% searches; "+
		"fast %.0f us, offload %.0f us; server busy %.2f%s",
		100*c.share(), c.told, c.doubt,
		math.Exp(c.ways[0].took.mean)/1e3, math.Exp(c.ways[1].took.mean)/1e3, c.util.mean, news)
}
