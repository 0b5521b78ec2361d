package catfish

import (
	"fmt"
	"math"
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
// another, in the same ones, since epochs are cut from the clock; each counts
// what it finished in both, and moves its q towards the better. Were each to
// try at its own times it would see only what is good for itself, which is
// to push its work on to whoever waits. As far as counts say nothing (too
// few, or as many either way), the lower latency decides.
//
// A search is offloaded with a probability, by its client's own dice: the
// higher q is, and the fewer nodes it would read compared with others. Reads
// move more bytes than answers, and a message costs a server the same
// however little it asks: so it is the small ones that gain by offloading,
// and large ones that are answered when the network is full.
//
// Such a climb ends on the nearest hill. Seldom, at an end, a pair goes the
// whole way: one epoch all by fast messaging, one all offloaded (a leap).
//
// Invariants: lo() <= q <= hi(); all state is finite, whatever heartbeats,
// estimates and outcomes say (costInput clamps them).

// Parameters; docs/policy.md says what others gave.
const (
	// costEpoch is long against a search (below 1 ms unless a server is
	// overrun: then epochs double until one has costSearches of them), and
	// short enough for twenty moves in the first half second.
	costEpoch     = 10 * time.Millisecond
	costSearches  = 4
	costDoublings = 6 // to 0.64 s

	// The first quarter of an epoch belongs to searches of the one before.
	costSettle = 4

	// Half the difference of the shares tried, of the width of q. 0.03 keeps
	// a server's utilisation within 6 points. When q has come to an end,
	// trying is a loss, and so is counting: one pair in costDeep is as wide
	// as ever, to see when the end is none any more, and seldomer if the
	// loss is great; in between the policy rests.
	costWide, costNarrow, costLeast = 0.03, 0.02, 0.005 // the last just before
	costMost, costGone              = 0.06, 0.8         // while q moves, by its last five steps
	costDeep                        = 16

	// Steps of q for each pair of epochs; one in the direction of the last
	// is longer, one back is shorter, so that chance alone shortens them.
	costFirst, costShort, costLong = 0.05, 0.004, 0.2
	costMore, costLess             = 1.4, 0.6

	// costLeave: q leaves an end for a slope of so many deviations. Leaving
	// for nothing costs more than leaving late: it takes many pairs back.
	costLeave = 0.95

	// A leap is made in one pair in costLeap: 10 ms of 5 s. The first, and one
	// after a heartbeat that tells of another load, in one of costSoon. It
	// moves q by a gain of costGain at least, beyond twice its own standard
	// error, which costProofs leaps in a row have to show.
	costLeap, costSoon = 256, 16
	costGain           = 0.05
	costProofs         = 4
	costTold           = 8 // searches offloaded before the first

	// costMemory is of what earlier pairs told: ten of them count. One that
	// differs by costSurprise deviations ends it.
	costMemory, costSurprise = 0.9, 3
	costPairs                = 4 // until their own spread is believed
	// costFar is how far q moves until but 1/e of it counts.
	costFar = 0.05

	// costFew: in a pair with less there is nothing to be counted.
	costFew = 16

	// What latencies count, as a share of throughput by full share: a little
	// always, and a fifth of what the counts leave uncertain.
	costTaste, costDoubt = 0.02, 0.2
	// costSame: latencies nearer than 10 %, or than their own
	// uncertainty, are equal.
	costSame = 0.1

	// costSize is how much of q one search differs from one of e times
	// its work, which is that of its reads and of costFixed more: what
	// starting a search costs either way.
	costSize  = 0.5
	costFixed = 4

	// A way that was not taken for costRetry searches and costForgotten is
	// taken by one search in costOdds.
	costRetry     = 64
	costForgotten = 500 * time.Millisecond
	costOdds      = 8
	costNoRetry   = Way(255)

	// No more than an eighth of an epoch's searches are not asked about: of
	// these nobody knows when they finished; nor more than costSkips, for a
	// client that is left with them when it becomes slow.
	costSkip, costSkips = 8, 64

	// One search in costLook shows its size whatever comes of it.
	costLook = 64

	// A heartbeat that differs so much from the ones before (utilisation,
	// or requests waiting by worker's batch) says that all was learnt of
	// another load.
	costJump = 0.25
	costMany = 16
	// costStale intervals without a heartbeat: what it said is no news.
	costStale = 3
)

type cost struct {
	dice uint64 // of splitmix

	// The control, in shares of a mean search.
	q      float64
	step   float64
	sign   float64  // of the epoch: +1, -1
	delta  float64  // half the difference of this pair
	leap   bool     // from one end to the other
	leapt  bool     // since the load has changed
	proofs costMean // gains of the latest leaps, if the first was one
	quiet  int64    // heartbeats until then tell of a leap

	// Sizes of searches: ln of their work by that of the smallest.
	size costMean

	// Epochs.
	length   int64   // ns
	epoch    int64   // number of the one under way, by length
	whole    bool    // seen from its beginning
	first    float64 // finished in the pair's first epoch, -1: unknown
	finished int     // in this one, by this client
	census   *Census // or nil: there is this client alone
	marked   bool    // counting has begun in this epoch
	from     uint64  // the census then
	fromAt   time.Time
	perEpoch int // in the last whole one
	unpaired int // since the last step

	// What pairs told: sums with a memory.
	slope, slopes, noise float64
	spread               costMean // of a pair's difference, in deviations

	ways    [2]costWay
	results costMean
	any     costMean // latency, of both ways
	now     int64    // of the latest outcome
	other   [2]int   // searches since a way was taken last

	// The next search's dice, if they were thrown.
	thrown bool
	dices  float64 // from [0, 1)
	look   bool    // its size is wanted
	retry  Way     // or costNoRetry

	util, wait costMean
	peak       float64
	beat       Load
	beatAt     int64
	toward     float64 // the last move
	rest       bool    // all searches go one way until then
	until      int64
	gone       float64 // latest moves, summed
	walked     float64 // the same without their signs
	leaning    float64 // the last pair's: latencies
	told       float64 // the last pair's: counts
	doubt      float64
}

// costMean is a mean with its mean deviation, of the latest values.
type costMean struct {
	mean, dev float64
	n         int
}

func (m *costMean) add(v float64, memory int) {
	if m.n < memory {
		m.n++
	}
	d := v - m.mean
	m.mean += d / float64(m.n)
	if m.n > 1 {
		m.dev += (math.Abs(d) - m.dev) / float64(m.n)
	}
}

// uncertain is about the standard error of the mean.
func (m *costMean) uncertain() float64 {
	if m.n < 2 {
		return math.Inf(1)
	}
	return m.dev / math.Sqrt(float64(m.n-1))
}

// costWay is what a client knows of one way.
type costWay struct {
	took costMean // ns, ln
	last int64    // when it was told last
}

func newCost(seed uint64) *cost {
	c := &cost{
		dice: seed*0x9e3779b97f4a7c15 + 0x636f7374, step: costFirst, sign: 1, delta: costWide,
		length: int64(costEpoch), first: -1, gone: 1, walked: 1, epoch: math.MinInt64,
	}
	return c
}

func (c *cost) Name() string { return "cost" }

// random is the next of splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
func (c *cost) random() uint64 {
	c.dice += 0x9e3779b97f4a7c15
	return costMix(c.dice)
}

func costMix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// costLn is the logarithm of v, 1 or more, within 0.06 and rising: its
// binary one is taken as straight between powers of two. Latencies that
// differ by less are alike anyhow, and a true one takes as long as all the
// rest of a decision.
func costLn(v float64) float64 {
	b := math.Float64bits(v)
	return float64(int64(b)-1023<<52) * (math.Ln2 / (1 << 52))
}

// costInput makes a number of somebody else's finite, within 0 and most.
func costInput(v, most float64) float64 {
	if !(v > 0) { // Also if it is none.
		return 0
	}
	return min(v, most)
}

// Sizes carry small searches above the share of mean ones, by up to small,
// and large ones below, by about large. None is below 0.
func (c *cost) small() float64 { return costSize * min(c.size.mean, 2*c.size.dev) }
func (c *cost) large() float64 { return costSize * 3 * c.size.dev }
func (c *cost) width() float64 { return 1 + (c.small()+c.large())/2 }
func (c *cost) lo() float64    { return -c.small() + c.delta*c.width() }
func (c *cost) hi() float64    { return 1 + c.large() - c.delta*c.width() }

// Choose is for a search of which nothing is known.
func (c *cost) Choose(now func() time.Time, load *Load, fresh bool) (Way, bool) {
	return c.ChooseFor(now, load, fresh, &Estimate{})
}

// Glance throws the dice. If even the smallest of searches would not be
// offloaded, there is no need to know its size, but now and then, so that
// what sizes there are is known.
func (c *cost) Glance() bool {
	if c.rest {
		return false
	}
	if !c.thrown {
		c.throw()
	}
	if c.leap {
		return false
	}
	return c.retry == Offload || c.look || c.size.n < costFew || c.dices < c.tried()+c.small()
}

// tried is the share of this epoch.
func (c *cost) tried() float64 { return c.q + c.sign*c.delta*c.width() }

// Skip throws dice until one might offload its search, or shows the size.
func (c *cost) Skip() int {
	n := 0
	leaps := c.leap && c.sign > 0
	for most := min(c.perEpoch/costSkip, costSkips); !c.rest && !leaps && n < most && !c.Glance(); n++ {
		c.thrown = false
	}
	if n > 0 {
		c.other[FastMessaging] = 0
		c.other[Offload] += n
	}
	return n
}

// restsAt is the way of all searches while q rests at an end.
func (c *cost) restsAt() Way {
	if c.q > 0.5 {
		return Offload
	}
	return FastMessaging
}

// Settled: while it rests.
func (c *cost) Settled() (Way, bool) { return c.restsAt(), c.rest }

// Rest is what is left of it.
func (c *cost) Rest(now time.Time) time.Duration { return time.Duration(c.left(now.UnixNano())) }

// left is how long it rests yet, none if that is longer than any rest: the
// clock was set back.
func (c *cost) left(now int64) int64 {
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
		if c.other[w] >= costRetry && c.now-c.ways[w].last > int64(costForgotten) && c.random()%costOdds == 0 {
			c.retry = Way(w)
		}
	}
	c.thrown = true
}

// ChooseFor throws the dice, unless Glance has. It asks for no clock: that
// of the latest outcome is good enough for a heartbeat.
func (c *cost) ChooseFor(_ func() time.Time, load *Load, fresh bool, e *Estimate) (Way, bool) {
	if fresh {
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
	if reads > 0 {
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

// hear takes a heartbeat. One that differs much from those before says
// that what was learnt is of another time.
func (c *cost) hear(load *Load) {
	util := costInput(max(costInput(load.CPU, 1), costInput(load.Busy, 1)), 1)
	wait := float64(min(load.Waiting, 1<<20))
	if c.now < c.quiet {
		return
	}
	if c.util.n > 0 && (math.Abs(util-c.util.mean) > costJump ||
		wait > costMany+4*c.wait.mean || c.wait.mean > costMany+4*wait) {
		c.forget()
		c.util, c.wait = costMean{}, costMean{}
	}
	c.util.add(util, 8)
	c.wait.add(wait, 8)
	c.peak = max(c.peak, util)
	c.beat, c.beatAt = *load, c.now
}

// forget lets the next pairs decide alone, by longer steps.
func (c *cost) forget() {
	c.rest, c.leapt, c.proofs = false, false, costMean{}
	c.slope, c.slopes, c.noise = 0, 0, 0
	c.step = max(c.step, costFirst)
	for i := range c.ways {
		c.ways[i].took.n = min(c.ways[i].took.n, 4)
	}
}

// Observe counts a finished search.
func (c *cost) Observe(now time.Time, o Outcome) {
	if o.Way > Offload {
		return
	}
	c.tick(now.UnixNano())
	if c.rest {
		if c.left(c.now) > 0 {
			return
		}
		c.rest = false
	}
	n := max(o.Searches, 1)
	ln := costLn(1 + costInput(float64(o.Took), 1e15)/float64(n))
	c.any.add(ln, 64)
	results := costLn(1 + costInput(float64(o.Results), 1e9)/float64(n))
	c.results.add(results, 256)
	// Latencies of both ways are of searches alike: both ways have their
	// own sizes.
	if math.Abs(results-c.results.mean) <= math.Ln2 || c.ways[o.Way].took.n == 0 {
		c.ways[o.Way].took.add(ln, 32)
	}
	c.ways[o.Way].last = c.now

	// The others finished before, most of them in the epoch before if this
	// is the first of a new one.
	epoch, others := c.now/c.length, min(max(o.Others, 0), 1<<32)
	if epoch != c.epoch {
		c.finished += others
		c.unpaired += others
		others = 0
		c.turn(epoch)
		epoch = c.epoch
	}
	c.unpaired += n + others
	if c.now-epoch*c.length >= c.length/costSettle {
		c.finished += n + others
		c.mark()
	}
}

// tick takes the time. Callers look at the clock before they get the lock:
// one that comes late does not bring back the epoch before. What is to come
// by a clock that was set back has been.
func (c *cost) tick(at int64) {
	if at < c.now-c.length {
		c.quiet = 0
		for w := range c.ways {
			c.ways[w].last = min(c.ways[w].last, at)
		}
	} else if at < c.now {
		return
	}
	c.now = at
}

// mark begins to count, after the first quarter.
func (c *cost) mark() {
	if c.census != nil && !c.marked {
		c.marked = true
		c.from, c.fromAt = c.census.At(time.Unix(0, c.epoch*c.length+c.length/costSettle), time.Unix(0, c.now))
	}
}

// counted is how many searches finished in the epoch that is over, of all
// clients of the process if there is a census. It is not known if nobody asked
// when counting was to begin, or nearly: then some would stand for many.
func (c *cost) counted() (searches float64, ok bool) {
	if c.census == nil {
		return float64(c.finished), true
	}
	if !c.marked {
		return 0, false
	}
	n, at := c.census.At(time.Unix(0, (c.epoch+1)*c.length), time.Unix(0, c.now))
	took, whole := float64(at.Sub(c.fromAt)), float64(c.length-c.length/costSettle)
	if n < c.from || took < whole/2 || took > whole*2 {
		return 0, false
	}
	return float64(n-c.from) * whole / took, true
}

// Count has the finished searches of all clients of this process compared.
func (c *cost) Count(census *Census) { c.census = census }

// turn begins an epoch.
func (c *cost) turn(epoch int64) {
	next := epoch == c.epoch+1
	c.perEpoch = 0
	if next && c.whole {
		c.perEpoch = c.finished
	}
	n, known := 0.0, false
	if next && c.whole {
		n, known = c.counted()
	}
	switch {
	case !known:
		c.first = -1
	case epoch&1 == 1:
		c.first = n
	case c.first >= 0:
		c.pair(c.first, n)
		c.first = -1
	}
	// Whose searches are rarer than epochs, or nearly, goes by latencies.
	if c.unpaired >= costFew && (!next || !known && c.finished < costFew) {
		c.move(c.lean(), 1)
	}
	if !next {
		c.leap, c.proofs = false, costMean{}
	}
	c.epoch, c.whole, c.finished, c.marked = epoch, next, 0, false
	if epoch&1 == 0 {
		c.nextPair(epoch >> 1)
	}
	// Which epoch of a pair has more is drawn, the same for all clients, so
	// that nothing periodic is taken for its effect.
	c.sign = 1
	if costMix(uint64(c.epoch>>1))&1 == uint64(c.epoch&1) {
		c.sign = -1
	}
}

// nextPair chooses how far apart the next pair's shares are, and how long
// it takes.
func (c *cost) nextPair(pair int64) {
	length := int64(costEpoch)
	want := costSearches * math.Exp(c.any.mean)
	for range costDoublings {
		if float64(length) >= want {
			break
		}
		length *= 2
	}
	if length != c.length {
		// The number of the epoch under way is another one now.
		c.length, c.epoch, c.whole, c.first = length, c.now/length, false, -1
		pair = c.epoch >> 1
	}
	// Wide while q goes somewhere, narrow where it goes back and forth.
	c.delta = costNarrow + (costMost-costNarrow)*min(c.step/costFirst, 1)*math.Abs(c.gone)/(c.walked+1e-9)
	settled := c.atEnd() && c.step <= costNarrow
	c.leap = settled && c.whole && c.ways[Offload].took.n >= costTold &&
		(c.proofs.n > 0 || pair%costLeap == 0 || !c.leapt && pair%costSoon == 0)
	if !c.leap {
		c.proofs = costMean{} // of an attempt that was broken off
	} else {
		c.q = min(max(c.q, c.lo()), c.hi())
		c.quiet = c.now + 2*c.length + costStale*int64(max(c.beat.Interval, DefaultHeartbeatInterval))
		return
	}
	if settled {
		deep := int64(costDeep)
		for s := math.Abs(c.told); s > 1 && deep < 4*costDeep; s /= 2 {
			deep *= 2 // The worse it is there, the seldomer.
		}
		c.delta = costLeast
		switch pair % deep {
		case 0:
			c.delta = costWide
		case deep - 1: // so that the next is seen from its beginning
		default:
			c.rest, c.until = true, (pair-pair%deep+deep-1)*2*c.length
		}
	}
	c.q = min(max(c.q, c.lo()), c.hi())
}

// pair compares two epochs, the first and the second one.
func (c *cost) pair(first, second float64) {
	if first+second < costFew {
		if c.unpaired >= costFew {
			c.move(c.lean(), 1)
		}
		return
	}
	more, less := second+0.5, first+0.5
	if c.sign < 0 { // The second epoch offloaded less.
		more, less = less, more
	}
	d := math.Log(more / less)
	if c.leap {
		c.land(d, c.chance(math.Sqrt(1/more+1/less)))
		return
	}
	// How pairs differ by chance, as far as one can tell: from each other.
	// Before there are some: half of what it were if searches came at
	// random, since callers that wait for answers come more evenly.
	chance := math.Sqrt(1/more + 1/less)
	c.spread.add(d/chance, 32)
	chance = c.chance(chance)
	by := 2 * c.delta
	// What comes as a surprise is of another load than what is remembered.
	if c.slopes > 0 && c.spread.n >= costPairs {
		if s, m := c.slope/c.slopes, math.Sqrt(c.noise)/c.slopes; math.Abs(d/by-s) > costSurprise*(m+chance/by) {
			c.slope, c.slopes, c.noise = 0, 0, 0
		}
	}
	// Least squares: pairs that were farther apart count for more.
	c.slope = costMemory*c.slope + d*by
	c.slopes = costMemory*c.slopes + by*by
	c.noise = costMemory*costMemory*c.noise + chance*chance*by*by
	slope := c.slope / c.slopes
	doubt := math.Sqrt(c.noise) / c.slopes
	c.told = slope
	c.move(slope+(costTaste+costDoubt*doubt)*c.lean(), doubt)
}

// chance is how much two epochs differ by chance, from what it is if searches
// come at random.
func (c *cost) chance(random float64) float64 {
	if c.spread.n < costPairs {
		return random / 2
	}
	return random * min(max(1.25*c.spread.dev, 0.05), 2) // 1.25 mean deviations are a standard one.
}

// land takes what a leap's pair found: d is the logarithm of all offloaded by
// none. A gain is proved by further leaps, since other programs may have had
// the cores in one epoch and not in the other; then q goes to the other end,
// from where there will be a leap soon again.
func (c *cost) land(d, chance float64) {
	low := c.q < 0.5
	if !low {
		d = -d
	}
	c.proofs.add(d, costProofs)
	switch mean := c.proofs.mean; {
	case mean < costGain:
		c.leapt, c.proofs = true, costMean{}
		return
	case c.proofs.n < costProofs:
		return
	case mean < costGain+max(2*1.25*c.proofs.uncertain(), chance):
		c.leapt, c.proofs = true, costMean{}
		return
	}
	c.leapt, c.proofs = false, costMean{}
	c.slope, c.slopes, c.noise = 0, 0, 0
	c.gone, c.walked, c.step = 1, 1, costFirst
	if c.q = c.hi(); !low {
		c.q = c.lo()
	}
}

// lean is which way latencies speak for: 1 offloading, -1 fast messaging,
// 0 if they are alike.
func (c *cost) lean() float64 {
	f, o := &c.ways[FastMessaging].took, &c.ways[Offload].took
	c.leaning = 0
	if f.n >= 2 && o.n >= 2 {
		d := f.mean - o.mean
		if math.Abs(d) > max(costSame, f.uncertain()+o.uncertain()) {
			c.leaning = min(max(d, -1), 1)
		}
	}
	return c.leaning
}

// atEnd reports whether q can go one way only.
func (c *cost) atEnd() bool { return c.q <= c.lo()+1e-9 || c.q >= c.hi()-1e-9 }

// move takes a step: the whole of it if the slope is beyond doubt, next to
// none if it is within: there is time to learn more.
func (c *cost) move(slope, doubt float64) {
	c.unpaired, c.doubt = 0, doubt
	z := slope / (doubt + costTaste)
	by := z * z * z / (1 + math.Abs(z*z*z))
	if by == 0 {
		return
	}
	if c.atEnd() && (by > 0) == (c.q < 0.5) {
		if math.Abs(z) < costLeave {
			c.step = max(c.step*costLess, costShort)
			return
		}
		c.step = max(c.step, costFirst)
	}
	if (by > 0) == (c.toward > 0) {
		c.step = min(c.step*costMore, costLong)
	} else {
		c.step = max(c.step*costLess, costShort)
	}
	c.toward = by
	c.gone, c.walked = costGone*c.gone+by, costGone*c.walked+math.Abs(by)
	q := c.q + by*c.step*c.width()
	// What was found at another share says the less of this one.
	far := math.Exp(-math.Abs(by) * c.step / costFar)
	c.slope, c.slopes, c.noise = c.slope*far, c.slopes*far, c.noise*far*far
	c.q = min(max(q, c.lo()), c.hi())
	if c.q != q { // An end: nothing is gained by going on.
		c.step = max(c.step*costLess*costLess, costShort)
	}
}

// Share of searches of mean size that are offloaded.
func (c *cost) share() float64 { return min(max(c.q, 0), 1) }

// State shows the share.
func (c *cost) State() PolicyState {
	return PolicyState{Utilisation: c.util.mean, Peak: c.peak, Share: c.share()}
}

// Why is the last pair's finding.
func (c *cost) Why() string {
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
