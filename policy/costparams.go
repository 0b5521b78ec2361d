package policy

import (
	"math"
	"time"
)

// beatInterval is the paper's interval between heartbeats (section V-A).
const beatInterval = 10 * time.Millisecond

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
	costMost, costGone              = 0.04, 0.8         // while q moves, by its last five steps
	costDeep                        = 16

	// Steps of q for each pair of epochs; one in the direction of the last
	// costRun is longer, one back is shorter, so that chance alone shortens
	// them, and a ridge is not overrun.
	costFirst, costShort, costLong = 0.05, 0.004, 0.2
	costMore, costLess             = 1.4, 0.5
	costRun                        = 2

	// costLeave: q leaves an end for a slope of so many deviations. Leaving
	// for nothing costs more than leaving late: it takes many pairs back.
	costLeave = 0.95

	// A leap is made in one pair in costLeap: 10 ms of 5 s; after another load in
	// one of costSoon, or at once if there was none in costAgain. It moves q by a gain of
	// costGain at least, beyond twice its own standard error, which costProofs
	// leaps in a row have to show, or two a gain of costPlain.
	// A client begins with two, at one of costYoung pairs: that tells more in
	// 20 ms than small steps in a second, for less. The first is for
	// the caches and page tables, and not judged. costEarly bounds how often a
	// client begins so whose epochs can't be counted.
	costLeap, costSoon, costYoung = 256, 16, 2
	costGain, costPlain           = 0.05, 0.2
	costProofs, costEarly         = 4, 3
	costAgain                     = 32
	costMiddle                    = 0.1 // from an end

	// costMemory is of what earlier pairs told: ten of them count. One that
	// differs by costSurprise deviations ends it.
	costMemory, costSurprise = 0.9, 3
	costPairs                = 4 // until their own spread is believed
	// costFar is how far q moves until but 1/e of it counts.
	costFar = 0.05

	// costFew: in a pair with less there is nothing to be counted. Nor for who
	// has no more in costRare epochs, or who compared nothing in costNever.
	costFew, costRare, costNever = 16, 8, 100

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
	costNoRetry   = Path(255)

	// No more than an eighth of an epoch's searches are not asked about: of
	// these nobody knows when they finished; nor more than costSkips, for a
	// client that is left with them when it becomes slow.
	// In a leap it is costSkipLeap: what is asked then takes a ninth.
	costSkip, costSkips, costSkipLeap = 8, 64, 8

	// One search in costLook shows its size whatever comes of it.
	costLook = 64

	// Heartbeats that differ so much from the ones before (utilisation,
	// or requests waiting by worker's batch), costOdd in a row, say that all
	// was learnt of another load. A single one is what a shared machine does.
	costJump = 0.25
	costMany = 16
	costOdd  = 3
	// Two pairs in which four times as much finished as before, or a fourth
	// (ln), say so too. Machines like this one change their speed by two.
	costShift = 2 * math.Ln2
	// costStale intervals without a heartbeat: what it said is no news.
	costStale = 3
)
