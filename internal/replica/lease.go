package replica

import "time"

// Lease is until when a primary is surely the only one, by its own clock. It publishes
// the latest in each heartbeat and in a line of registered memory. The time is
// absolute, so that a late or old copy of it does no harm.
type Lease struct {
	Term  uint64 // 0: the member is no primary that may be read
	Until time.Duration
}

// OfSecondary in Lease.Term marks the lease of a secondary: until when its readers are no
// more than the group's lease behind the primary. It covers no read of a primary, since the
// terms differ.
const OfSecondary uint64 = 1 << 63

// Covers reports whether a value may be believed that was read from a primary's memory,
// one-sidedly, or by the primary itself for an answer.
//
//	reader    term := the published lease's Term
//	             |   post the read ... poll its completion
//	             |        |   lease := the published lease, or a later copy
//	             |        |     |    now: an upper bound of the primary's clock (Clock)
//	             v        v     v     v
//	          ---+--------+-----+-----+----------------> lease.Covers(term, now)
//
// The lease is looked at after the value: before, it proves nothing, since the reader
// or the primary may stop in between. The term is noted before the value: otherwise a
// member that was deposed, read, and promoted again would be believed.
func (l Lease) Covers(term uint64, now time.Duration) bool {
	return term != 0 && l.Term == term && now < l.Until
}

// Clock bounds the clock of a server from above. A client makes one of each answer that
// has the server's time, and uses one not older than a minute: by then the bound is off
// by 30 ms.
type Clock struct {
	Sent   time.Duration // when the request was sent, by the client's clock
	Server time.Duration // the server's clock, in the answer
}

// Bound returns a time that the server's clock has not passed when the client's is now:
// it stood at Server after Sent.
func (c Clock) Bound(now time.Duration) time.Duration {
	since := now - c.Sent
	return c.Server + since + since/drift + 1
}

// Freshness makes the leases of a secondary. It compares when beacons were sent, by the
// primary's clock, with when they came, by the secondary's:
//
//	sent by the primary   s1      s2      s3            s4
//	                        \        \       \             `---.
//	came                     c1       c2      c3                c4    least = c1-s1
//	lease until              s1+least+L, s2+least+L, ...    s4+least+L
//
// A beacon that was long on its way, or waited while the secondary stood still, so grants
// less: what the readers see is older than the lease by least at most, the shortest time
// that a beacon was on its way. The zero value is that of a session without beacons.
type Freshness struct {
	started     bool
	least, came time.Duration
}

// Until returns until when readers may be served what was committed when a beacon was sent.
// least rises as far as one clock may gain on the other.
func (f *Freshness) Until(sent, came, lease time.Duration) time.Duration {
	way := came - sent
	if f.started {
		way = min(way, f.least+max(came-f.came, 0)/drift+1)
	}
	*f = Freshness{true, way, came}
	return sent + way + lease
}
