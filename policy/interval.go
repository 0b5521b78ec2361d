package policy

import "time"

// interval is what the clients of a group need of policy cost until something
// is to be counted. They read it without the policy's lock: of those that ask,
// one in each interval takes the lock and counts, and publishes the next.
// It does not change.
type interval struct {
	from, until int64 // ns of the wall clock; until is not in it
	share       float64
}

// publish shows the interval under way. The caller holds mu.
func (c *cost) publish() {
	// A clock that is set back by more than an epoch begins a new one.
	c.now.Store(&interval{from: (c.epoch - 1) * c.length, until: c.next, share: c.share()})
}

// plan is for the rest of the interval; ok is false outside of it.
func (i *interval) plan(at time.Time) (p Plan, ok bool) {
	now := at.UnixNano()
	if i == nil || now < i.from || now >= i.until {
		return p, false
	}
	return Plan{Share: i.share, Until: at.Add(time.Duration(i.until - now))}, true
}
