package policy

import (
	"math"
)

// How policy cost moves its q, by what pairs of epochs tell.

// pair compares two epochs, the first and the second one.
func (c *climb) pair(first, second float64) {
	if first+second < costFew {
		if c.leap {
			c.early, c.leapt, c.proofs = 0, true, costMean{}
		}
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
	switch {
	case c.leap && c.early > 0 && !c.warm:
		c.warm = true
		return // to what the caches did not have
	case c.leap:
		c.land(more, less, c.chance(math.Sqrt(1/more+1/less)))
		return
	}
	c.weigh((more + less) / 2)
	if c.early > 0 {
		return // until the leap
	}
	// How pairs differ by chance, as far as one can tell: from each other.
	// Before there are some: half of what it were if searches came at
	// random, since callers that wait for answers come more evenly.
	chance := math.Sqrt(1/more + 1/less)
	c.spread.add(d/chance, 32)
	chance = c.chance(chance)
	by := 2 * c.delta
	// What comes as a surprise is of another load than what is remembered.
	if c.slopes > 0 && c.spread.n >= costPairs && c.off != ruleSurprise {
		if s, m := c.slope/c.slopes, math.Sqrt(c.noise)/c.slopes; math.Abs(d/by-s) > costSurprise*(m+chance/by) {
			c.slope, c.slopes, c.noise = 0, 0, 0
		}
	}
	if c.off == ruleMemory {
		c.slope, c.slopes, c.noise = 0, 0, 0
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

// weigh takes how much finished in an epoch of a pair. Much more or less than
// before, twice in a row, is another load, whatever heartbeats say: a server
// that is hardly asked looks the same beside any.
func (c *climb) weigh(level float64) {
	ln := math.Log(level)
	if c.off != ruleShift && c.levels.n > 0 && math.Abs(ln-c.levels.mean) > costShift {
		if c.shifted++; c.shifted < 2 {
			return
		}
		c.forget()
	}
	c.levels.add(ln, 8)
	c.shifted = 0
}

// chance is how much two epochs differ by chance, from what it is if searches
// come at random.
func (c *climb) chance(random float64) float64 {
	if c.spread.n < costPairs {
		return random / 2
	}
	return random * min(max(1.25*c.spread.dev, 0.05), 2) // 1.25 mean deviations are a standard one.
}

// land takes what a leap's pair found: what finished with all offloaded and
// with none. From an end the other one has to be better, from between them one
// of both better than where q is. A gain is proved by further leaps, since
// other programs may have had the cores in one epoch and not in the other; then
// q goes there, and there will be a leap soon again.
func (c *climb) land(all, none, chance float64) {
	if between := !c.atEnd() && c.levels.n > 0; c.proofs.n == 0 {
		c.up, c.between = c.q < 0.5, between
		if between {
			c.up = all > none
		}
	}
	to, there, here := c.lo(), none, all
	if c.up {
		to, there, here = c.hi(), all, none
	}
	gain := math.Log(there / here)
	if c.between {
		gain = math.Log(there) - c.levels.mean
	}
	c.early = 0
	c.proofs.add(gain, costProofs)
	if mean := c.proofs.mean; mean >= costGain {
		plain := c.proofs.n >= 2 && mean-2*c.proofs.dev >= costPlain || c.off == ruleProofs
		if c.proofs.n < costProofs && !plain {
			return
		}
		if plain || mean >= costGain+max(2*1.25*c.proofs.uncertain(), chance) {
			c.leapt, c.proofs = false, costMean{}
			c.slope, c.slopes, c.noise = 0, 0, 0
			c.gone, c.walked, c.step = 1, 1, costFirst
			c.q = to
			return
		}
	}
	c.leapt, c.proofs = true, costMean{}
	c.gone = 0 // There is no reason to go anywhere.
}

// lean is which way latencies speak for: 1 offloading, -1 fast messaging,
// 0 if they are alike.
func (c *climb) lean() float64 {
	f, o := &c.ways[FastMessaging].took, &c.ways[Offload].took
	if c.leaning = 0; c.off == ruleLatency {
		return 0
	}
	if f.n >= 2 && o.n >= 2 {
		d := f.mean - o.mean
		if math.Abs(d) > max(costSame, f.uncertain()+o.uncertain()) {
			c.leaning = min(max(d, -1), 1)
		}
	}
	return c.leaning
}

// atEnd reports whether q can go one way only.
func (c *climb) atEnd() bool { return c.q <= c.lo()+1e-9 || c.q >= c.hi()-1e-9 }

// move takes a step: the whole of it if the slope is beyond doubt, next to
// none if it is within: there is time to learn more.
func (c *climb) move(slope, doubt float64) {
	c.unpaired, c.unpairedFrom, c.doubt = 0, c.now, doubt
	z := slope / (doubt + costTaste)
	by := z * z * z / (1 + math.Abs(z*z*z))
	if by == 0 {
		return
	}
	if c.atEnd() && (by > 0) == (c.q < 0.5) {
		if math.Abs(z) < costLeave && c.off != ruleLeave {
			c.step = max(c.step*costLess, costShort)
			return
		}
		c.step = max(c.step, costFirst)
	}
	if (by > 0) != (c.toward > 0) {
		c.step, c.run = max(c.step*costLess, costShort), 0
	} else if c.run++; c.run >= costRun || c.off == ruleRun {
		c.step = min(c.step*costMore, costLong)
	}
	c.toward = by
	c.gone, c.walked = costGone*c.gone+by, costGone*c.walked+math.Abs(by)
	q := c.q + by*c.step*c.width()
	// What was found at another share says the less of this one.
	far := math.Exp(-math.Abs(by) * c.step / costFar)
	if c.off != ruleFar {
		c.slope, c.slopes, c.noise = c.slope*far, c.slopes*far, c.noise*far*far
	}
	c.q = min(max(q, c.lo()), c.hi())
	if c.q != q { // An end: nothing is gained by going on.
		c.step = max(c.step*costLess*costLess, costShort)
	}
}
