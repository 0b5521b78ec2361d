package mover

import (
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/replica"
)

// Leases bounds the leases that clients get from this member. They read memory one-sidedly under
// a lease, by the map whose epoch comes with it, and a move waits until no lease of the
// old epoch can hold:
//
//	always        a lease ends mapLease after the map was read last: a member that does not
//	              hear of a move sends none when the source drops the slots
//	a move nears  leases are short
//	boxes of others may be in a tree, which clients read as it is: none is sent
//	it ends       none is sent. The source waits for the latest one that was sent before
//
// Without leases clients send messages, which the store judges. The zero value sends leases as
// they are. It is safe for concurrent use.
type Leases struct {
	Now func() time.Duration // boottime.Now, but in tests

	hides func() bool // the store has boxes of others; nil: it has none

	mu     sync.Mutex
	on     bool          // a map was read
	read   time.Duration // when that began
	short  bool
	held   bool
	latest time.Duration // of those that were sent
}

const (
	// mapLease is as long as two looks at the map.
	mapLease = 2 * time.Second
	// shortLease makes a move wait as long as its other steps take.
	shortLease = 30 * time.Millisecond
)

// Grant returns the lease that a client may get. The caller looks at the map's epoch after it.
func (l *Leases) Grant(is replica.Lease) replica.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.on || is.Term == 0:
		return is
	case l.held || l.hides != nil && l.hides():
		return replica.Lease{}
	}
	is.Until = min(is.Until, l.read+mapLease)
	if l.short {
		is.Until = min(is.Until, l.Now()+shortLease)
	}
	l.latest = max(l.latest, is.Until)
	return is
}

// OfSecondary bounds a lease under which this member answers messages as a secondary, and leaves others
// as they are. A primary's slots are closed when they go to another group. A secondary does not wait
// for that: it answers while it knows that none is about to go, by a map that was read lately.
func (l *Leases) OfSecondary(is replica.Lease) replica.Lease {
	if is.Term&replica.OfSecondary == 0 {
		return is
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.on:
		return is
	case l.held:
		return replica.Lease{}
	}
	is.Until = min(is.Until, l.read+mapLease)
	return is
}

// Read notes when the look at the map began, which the store has now.
func (l *Leases) Read(began time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on, l.read = true, max(l.read, began)
}

// bound makes leases short, or ends them, from now on.
func (l *Leases) bound(short, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.short, l.held = short, held
}

// sent is until when those hold that were sent so far.
func (l *Leases) sent() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.latest
}

// lastRead is when the latest look at the map began.
func (l *Leases) lastRead() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read
}
