package policy

import "time"

// interval is what the clients of a group need of policy cost until a count is
// due. They read it without the policy's lock: in each interval one of the
// clients that ask takes the lock, counts, and publishes the next. An interval
// does not change.
type interval struct {
	from, until int64 // ns of the wall clock; until is not in it
	share       float64
}

// publish publishes the current interval. The caller holds mu.
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
