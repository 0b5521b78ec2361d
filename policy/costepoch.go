package policy

import (
	"math"
	"time"
)

// Epochs of policy cost: what finished in them.

// Observe counts a finished search.
func (c *cost) Observe(now time.Time, o Outcome) {
	if o.Path > Offload {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick(now.UnixNano())
	if c.rest {
		if c.left(c.now) > 0 {
			return
		}
		c.rest, c.unpaired = false, 0
	}
	n := max(o.Searches, 1)
	ln := costLn(1 + costInput(float64(o.Took), 1e15)/float64(n))
	c.any.add(ln, 64)
	results := costLn(1 + costInput(float64(o.Results), 1e9)/float64(n))
	c.results.add(results, 256)
	// Latencies of both ways are of searches alike: both ways have their
	// own sizes.
	if math.Abs(results-c.results.mean) <= math.Ln2 || c.ways[o.Path].took.n == 0 {
		c.ways[o.Path].took.add(ln, 32)
	}
	c.ways[o.Path].last = c.now

	// The others finished before, most of them in the epoch before if this
	// is the first of a new one.
	if c.unpaired == 0 {
		c.unpairedFrom = c.now
	}
	epoch, others := c.now/c.length, min(max(o.Others, 0), 1<<32)
	if epoch != c.epoch {
		c.finished += others
		c.unpaired += others
		others = 0
		c.turn(epoch)
		epoch = c.epoch
	}
	if c.in != epoch {
		if c.perEpoch = 0; c.in+1 == epoch {
			c.perEpoch = c.mine
		}
		c.in, c.mine = epoch, 0
	}
	c.unpaired += n + others
	if c.now-epoch*c.length >= c.settle() {
		c.finished += n + others
		c.mine += 1 + others/n
		c.mark()
	}
}

// tick takes the time. Callers look at the clock before they get the lock, and
// may lose their core in between: one that comes late does not bring back the
// epoch before. If all do, the clock was set back, and what is to come by it
// has been.
func (c *climb) tick(at int64) {
	if at >= c.now {
		c.now, c.late = at, 0
		return
	}
	if at >= c.now-int64(censusLate) {
		return
	}
	if c.late++; c.late < costFew {
		return
	}
	c.late, c.quiet, c.whole, c.first = 0, 0, false, -1
	c.leaptAt, c.unpairedFrom = min(c.leaptAt, at), min(c.unpairedFrom, at)
	for w := range c.ways {
		c.ways[w].last = min(c.ways[w].last, at)
	}
	c.now = at
}

// turn begins an epoch.
func (c *climb) turn(epoch int64) {
	next := epoch == c.epoch+1
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
	if (!next || !known) && c.rare() {
		c.early = 0
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

// rare reports whether searches are rarer than epochs, or nearly, or come in
// bursts too short to be compared: such a client goes by latencies. One that
// only paused, or had no core, does not.
func (c *climb) rare() bool {
	if c.off == ruleRare {
		return false
	}
	epochs := float64(c.now-c.unpairedFrom) / float64(c.length)
	return c.unpaired >= costFew && (float64(c.unpaired)*costRare <= costFew*epochs || epochs >= costNever)
}

// nextPair chooses how far apart the next pair's shares are, and how long
// it takes.
func (c *climb) nextPair(pair int64) {
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
		pair, c.levels = c.epoch>>1, costMean{}
	}
	// Wide while q goes somewhere, narrow where it goes back and forth.
	c.delta = costNarrow + (costMost-costNarrow)*min(c.step/costFirst, 1)*math.Abs(c.gone)/(c.walked+1e-9)
	if c.off == ruleWidth {
		c.delta = costNarrow
	}
	if c.early > 0 {
		c.delta = costLeast // There will be a leap.
		if !c.warm {
			c.q = c.lo()
		}
	}
	settled := c.atEnd() && c.step <= costNarrow
	c.leap = c.whole && (settled || c.early > 0 || c.proofs.n > 0) &&
		(c.proofs.n > 0 || pair%costLeap == 0 || !c.leapt && pair%costSoon == 0 || c.early > 0 && pair%costYoung == 0 && (c.atEnd() || c.levels.n > 1))
	if c.off == ruleProbes {
		c.leap = false
	}
	if !c.leap {
		c.proofs = costMean{} // of an attempt that was broken off
	} else {
		if c.proofs.n == 0 {
			c.early = max(c.early-1, 0)
		}
		c.leaptAt = c.now
		c.q = min(max(c.q, c.lo()), c.hi())
		c.quiet = c.now + 2*c.length + costStale*int64(max(c.beat.Interval, beatInterval))
		return
	}
	if settled && c.early == 0 {
		deep := int64(costDeep)
		for s := math.Abs(c.told); s > 1 && c.off != ruleDeep && deep < 4*costDeep; s /= 2 {
			deep *= 2 // The worse it is there, the seldomer.
		}
		c.delta = costLeast
		switch pair % deep {
		case 0:
			c.delta = costWide
		case deep - 1: // so that the next is seen from its beginning
		default:
			c.rest, c.until = c.off != ruleRest, (pair-pair%deep+deep-1)*2*c.length
		}
	}
	c.q = min(max(c.q, c.lo()), c.hi())
}

// mark begins to count, after the first quarter.
func (c *climb) mark() {
	if c.census != nil && !c.marked {
		c.marked = true
		c.from, c.fromAt = c.census.At(time.Unix(0, c.epoch*c.length+c.settle()), time.Unix(0, c.now))
	}
}

// counted is how many searches finished in the epoch that is over, of all
// clients of the process if there is a census. It is not known if nobody asked
// when counting was to begin, or nearly: then some would stand for many.
func (c *climb) counted() (searches float64, ok bool) {
	if c.census == nil {
		return float64(c.finished), true
	}
	if !c.marked {
		return 0, false
	}
	n, at := c.census.At(time.Unix(0, (c.epoch+1)*c.length), time.Unix(0, c.now))
	took, whole := float64(at.Sub(c.fromAt)), float64(c.length-c.settle())
	if n < c.from || took < whole/2 || took > whole*2 {
		return 0, false
	}
	return float64(n-c.from) * whole / took, true
}

// settle is the time in an epoch that is not counted.
func (c *climb) settle() int64 {
	if c.off == ruleSettle {
		return 0
	}
	return c.length / costSettle
}

// Count has the finished searches of all clients of this process compared, and
// all of these climb as one.
func (c *cost) Count(census *Census) {
	if c.off == ruleGroup {
		c.census = census
		return
	}
	off := c.off
	c.climb = census.climber()
	c.off = off
	if off != ruleNone && c.epoch == math.MinInt64 {
		c.take(off)
	}
}
