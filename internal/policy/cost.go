package policy

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Policy cost: offload the share q of searches with which most searches
// finish. docs/policy.md derives it.
//
// No client sees what a search costs the server, the network and the cores
// that clients share; the number of finished searches shows all of it. So all
// clients offload a little more than q in one epoch and a little less in another,
// in the same epochs, since these are cut from the clock. Each group of clients
// counts its finished searches in both, and moves its q to the better side.
//
//	share   pair 1     pair 2     pair 3      a pair is two epochs; which of
//	  q+d  +-----+          +-----+     +-    them has more is drawn by a hash
//	  q    |     |          |     |     |     of the pair's number, so that
//	  q-d  |     +-----+----+     +-----+     nothing periodic is taken for
//	       |s|                                its effect
//	        ^ the first quarter is not counted: its searches are of before
//
// A gradient search ends in the nearest local optimum, and to offload now and
// then takes longer than to offload always, since caches are cold. So after
// the beginning, after another load, and at an end now and then, a pair is an
// end-point probe: one epoch all by fast messaging, one all offloaded.
//
// Invariants: 0 <= q <= 1; all state is finite, whatever outcomes and
// heartbeats say.

// cost is what the clients of a group share.
type cost struct {
	now atomic.Pointer[interval] // the current one; stored under mu
	_   [56]byte                 // a line of its own: locking mu takes mu's line away

	mu    sync.Mutex
	state State // for people

	q        float64 // share of searches to offload
	step     float64 // of q; its sign is that of the latest one
	last     float64 // the latest pair's difference (ln), of more to less offloading
	spread   mean    // how two such in a row differ, relative to chance
	level    mean    // ln of searches/s in the latest pairs; none before the first
	lat      [2]mean // ln of a search's time in ns, by path
	sum      float64 // of differences, with a memory
	noise    float64 // its standard error
	rest     int     // pairs without a trial: q is at an end
	unpaired int     // epochs since two could be compared

	probes int  // pairs until the next end-point probe; 0: this pair is one
	wait   int  // from the latest probe to the next, in pairs
	gain   mean // of the latest probes; n is -1 before one that only fills caches, -2 if another load is why

	epoch  int64   // number of the current epoch
	length int64   // of epochs, ns
	next   int64   // when its counting begins, or it ends
	from   uint64  // finished when counting began
	fromAt int64   // 0: counting has not begun
	first  float64 // searches in the pair's first epoch, 0: unknown
}

const (
	// An epoch is long against a search: costEpoch, or doubled until it has
	// costLatencies of them; to costMost at most.
	costEpoch     = int64(10 * time.Millisecond)
	costLatencies = 4
	costMost      = 64 * costEpoch

	costDelta = 0.02 // half of what the shares of a pair differ by
	costFirst = 0.05 // step of q, at first
	costLong  = 0.2  // the longest

	// An end is probed costSoon pairs after the start, after another load and
	// after a move, then after twice as many, up to costProbe (5 s): first use
	// of buffers is slow. In between, once the load is known from costLevel
	// pairs, q rests for costSoon pairs after one that shows no gain. A gain is
	// costGain beyond its standard error in costProofs probes, or four times as
	// much in two: one epoch may have had a core that another program had in
	// the other.
	costProbe  = 256
	costSoon   = 16
	costGain   = 0.05
	costProofs = 4
	costLevel  = 8

	costMemory = 0.9          // ten pairs count
	costFew    = 16           // fewer searches in an epoch, on average, are not compared
	costRare   = 1.0 / 32     // share that explores where latencies decide
	costShift  = 2 * math.Ln2 // ln of the throughput of another load: four times, or a fourth
)

func newCost() *cost {
	return &cost{
		step: costFirst, length: costEpoch, probes: costSoon, wait: costSoon, gain: mean{n: -1},
	}
}

// Plan ends when a count is due.
func (c *cost) Plan(a *Ask) Plan {
	if !a.Fresh {
		if p, ok := c.now.Load().plan(a.Now); ok {
			return p
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.Fresh {
		c.state.Utilisation = finite(a.Load.CPU, 1)
		c.state.Peak = max(c.state.Peak, c.state.Utilisation)
	}
	now := a.Now.UnixNano()
	// A client that lost its core between the clock and the lock comes late, by
	// less than an epoch; by more, the clock was set back.
	switch begin := c.epoch * c.length; {
	case now >= begin+c.length || now < begin-c.length:
		c.end(now, a.Group)
		c.begin(now, a.Group)
	case now >= c.next: // The epoch's first quarter has ended.
		c.count(now, a.Group)
	}
	c.publish()
	return Plan{Share: c.share(), Until: a.Now.Add(time.Duration(c.next - now))}
}

// ownLock: clients call Observe at any time.
func (c *cost) ownLock() {}

// begin begins an epoch, and maybe a pair.
func (c *cost) begin(now int64, g *Group) {
	next := c.epoch + 1
	if c.epoch, c.fromAt = now/c.length, 0; c.epoch != next {
		c.first = 0
	}
	if c.epoch&1 == 0 {
		c.first = 0
		c.nextPair(now)
	}
	if c.next = c.epoch*c.length + c.length/4; now >= c.next {
		c.count(now, g)
	}
}

func (c *cost) count(now int64, g *Group) {
	c.from, c.fromAt, c.next = g.Finished(), now, (c.epoch+1)*c.length
}

// end ends an epoch. An epoch not seen from (nearly) its beginning, or seen
// only long after its end, is not compared: some searches would stand for many.
func (c *cost) end(now int64, g *Group) {
	took, n := float64(now-c.fromAt)/float64(c.length), float64(g.Finished()-c.from)
	switch seen := c.fromAt > 0 && took > 1.0/3 && took < 4.0/3; {
	case seen && c.epoch&1 == 0:
		c.first = n/took + 0.5
	case seen && c.first > 0 && c.first+n/took >= 2*costFew:
		c.pair(c.first, n/took+0.5)
	default:
		c.unpaired++
		c.first = 0
	}
	if c.rare() {
		if to := c.quicker(); to != 0 {
			c.q = max(to, 0)
		}
	}
}

// nextPair chooses the purpose of the next pair.
func (c *cost) nextPair(now int64) {
	took := math.Inf(1) // by the quicker path, as far as it is known
	for _, l := range c.lat {
		if l.n > 0 {
			took = min(took, l.mean)
		}
	}
	if math.IsInf(took, 1) {
		took = 0
	}
	length, want := costEpoch, costLatencies*math.Exp(took)
	for length < costMost && float64(length) < want {
		length *= 2
	}
	if length != c.length { // Its epochs have other numbers.
		c.length, c.epoch, c.first = length, now/length, 0
	}
	c.rest = max(c.rest-1, 0)
	// Between the ends only another load is a reason, once it is known.
	if c.probes > 1 || c.probes == 1 && (c.atEnd() || c.gain.n < 0 && c.level.n > 1) {
		c.probes--
	}
}

func (c *cost) atEnd() bool { return c.q == 0 || c.q == 1 }

// rare reports whether searches are too few to be counted, or come in bursts
// too short to be compared: then latencies decide.
func (c *cost) rare() bool { return c.unpaired >= costFew }

// more reports whether this epoch is the one of its pair with more offloading.
func (c *cost) more() bool { return mix(uint64(c.epoch>>1))&1 == uint64(c.epoch&1) }

// share is the share to try in this epoch.
func (c *cost) share() float64 {
	sign := -1.0
	if c.more() {
		sign = 1
	}
	switch {
	case c.rare():
		return min(max(c.q, costRare), 1-costRare)
	case c.probes == 0:
		return max(sign, 0)
	case c.rest > 0:
		return c.q
	}
	return min(max(c.q, costDelta), 1-costDelta) + sign*costDelta
}

// pair takes how many searches finished in a pair's two epochs, as if all of
// these were counted.
func (c *cost) pair(first, second float64) {
	more, less := second, first
	if !c.more() { // The second epoch offloaded less.
		more, less = first, second
	}
	wasRare := c.rare()
	c.unpaired = 0
	level, d := math.Log((more+less)/2*1e9/float64(c.length)), math.Log(more/less)
	switch {
	case wasRare: // Both had one share, and latencies have decided.
		c.probes, c.wait, c.gain = costSoon, costSoon, mean{}
		c.sum, c.noise = 0, 0
	case c.probes == 0 && c.gain.n < 0: // It filled the caches.
		c.gain = mean{}
	case c.probes == 0:
		c.judge(level, d)
	case c.level.n > 0 && math.Abs(level-c.level.mean) > costShift: // Another load.
		if c.gain.n != -2 { // Otherwise a load that changes often would never be probed.
			c.probes = costSoon
		}
		c.level, c.spread, c.gain = mean{}, mean{}, mean{n: -2}
		c.sum, c.noise = 0, 0
		c.level.add(level, costLevel)
		c.wait, c.rest, c.step = costSoon, 0, math.Copysign(costFirst, c.step)
	default:
		c.level.add(level, costLevel)
		if c.rest == 0 {
			c.move(d, math.Sqrt(1/more+1/less))
		}
	}
}

// move takes a step: next to none if chance explains the difference d, a whole
// one otherwise. random is what d would be by chance if searches came at
// random; closed loops are more even, as the differences between pairs show.
func (c *cost) move(d, random float64) {
	chance := random / 2
	if c.spread.n >= 4 {
		chance = random * max(c.spread.deviation()/math.Sqrt2, 0.05)
	}
	c.spread.add((d-c.last)/random, 32)
	c.last = d
	// Some ten pairs are remembered.
	c.sum, c.noise = costMemory*c.sum+d, math.Hypot(costMemory*c.noise, chance)
	z := c.sum / c.noise
	if c.q == 0 && z < 1 || c.q == 1 && z > -1 {
		if c.level.n == costLevel {
			c.rest = costSoon
		}
		return
	}
	by := z * z * z / (1 + math.Abs(z*z*z))
	size := math.Abs(c.step)
	switch {
	case c.atEnd():
		size = costFirst
	case by*c.step < 0:
		size = max(size/2, costDelta/4)
	case math.Abs(by) > 0.5:
		size = min(size*1.3, costLong)
	}
	c.step = math.Copysign(size, by)
	// Findings at another share count less for this one.
	far := 1 - math.Abs(by)
	c.sum, c.noise = c.sum*far, c.noise*far
	c.q = min(max(c.q+math.Abs(by)*c.step, 0), 1)
}

// judge takes the throughput (ln) of a probe, the mean of both ends, and the
// difference of all offloaded to none. At an end, the other end has to be
// better; between them, the better end has to be better than q's place.
// Leaving messages takes twice the evidence of returning to them: while they
// are not used their buffers are cold, and a probe shows them slower than they
// are.
func (c *cost) judge(level, d float64) {
	to, gain := 0.0, -d
	if c.q == 0 || !c.atEnd() && d > 0 {
		to, gain = 1, d
	}
	if !c.atEnd() { // The better end has 2/(1+e^-|d|) of the mean.
		gain = level + math.Ln2 - math.Log1p(math.Exp(-math.Abs(d))) - c.level.mean
	}
	c.gain.add(gain, costProofs)
	g := &c.gain
	even := math.Abs(g.mean) < costGain
	move := g.n >= 2 && g.mean-g.dev >= 4*costGain ||
		g.n == costProofs && g.mean >= costGain+(1+to)*g.uncertain() ||
		g.n >= 2 && even && c.quicker() == 2*to-1 // As many searches, and shorter ones.
	if !move && (g.n < 2 && g.mean > -4*costGain || g.n < costProofs && g.mean >= costGain) {
		return // The next pair is another one.
	}
	if c.wait = min(2*c.wait, costProbe); move {
		c.wait = costSoon
	}
	c.probes, c.gain = c.wait, mean{}
	if move { // Findings elsewhere say nothing of this end.
		c.q, c.rest, c.sum, c.noise = to, 0, 0, 0
	}
}

// quicker is the sign of a step to the path with the lower latency, 0 if they
// are alike.
func (c *cost) quicker() float64 {
	f, o := &c.lat[FastMessaging], &c.lat[Offload]
	d := f.mean - o.mean
	if !(math.Abs(d) > max(2*costGain, f.uncertain()+o.uncertain())) {
		return 0
	}
	return math.Copysign(1, d)
}

// Observe notes the time of a search.
func (c *cost) Observe(_ time.Time, o Outcome) {
	if o.Path > Offload {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lat[o.Path].add(math.Log(1+finite(float64(o.Took), 1e15)/float64(max(o.Searches, 1))), 32)
}

// Describe describes the share, and the known latencies of both paths.
func (c *cost) Describe() Description {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Share = c.q
	d := Description{Name: "cost", State: c.state, Why: "one path was not tried yet"}
	if c.lat[0].n > 0 && c.lat[1].n > 0 {
		d.Why = fmt.Sprintf("%.0f %% offloaded lets most searches finish, some %.0f a second; fast %.0f us, offload %.0f us; server busy %.2f",
			100*c.q, math.Exp(c.level.mean), math.Exp(c.lat[0].mean)/1e3, math.Exp(c.lat[1].mean)/1e3, c.state.Utilisation)
	}
	return d
}
