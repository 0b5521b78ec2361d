package remote

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/record"
)

// Leases are renewed in batches, before they end, for entries in use. A lease is due
// for renewal from the middle of its time on, and a hit in that half asks for it: no
// other search for popular entries is needed.
//
// Why the middle? Let n hits be spread at random over a lease, b renewals share a
// message, and s be the share of the lease in which a hit asks. The messages for
// each lease are
//
//	1/b / (1-s) + e^(-n s)
//
// the renewal, more often the earlier it comes, and the lookup of a key that no call
// asked for in time. With b = 64 the least of that is 0.11 at s = 0.73 for 4 hits, 0.05
// at 0.57 for 8, 0.03 at 0.37 for 16. With s = 1/2 it is 0.17, 0.05 and 0.03.

// lease is the word of Pointers' layout.
type lease uint64

const (
	leaseAsked lease = 1
	leaseHit   lease = 1 << 63

	endShift  = 19
	endMax    = 1<<44 - 1
	halfShift = 1
	halfMax   = 1<<18 - 1
)

// newLease is 0, a lease that has ended, if until, in ms, is not later than now.
func newLease(now, until time.Duration) lease {
	end, from := until.Milliseconds(), max(now, 0).Milliseconds()
	if end <= from {
		return 0
	}
	return lease(min(end, endMax)<<endShift | min((end-from)/2, halfMax)<<halfShift)
}

func (l lease) end() time.Duration {
	return time.Duration(l>>endShift&endMax) * time.Millisecond
}

// runs reports whether there is a lease: it has not ended, and is no longer than a server
// grants. A longer one is no server's: the word was damaged.
func (l lease) runs(now time.Duration) bool {
	return l.end() > now && l.end() <= now+record.MaxLease
}

// due reports whether a hit asks for the renewal.
func (l lease) due(now time.Duration) bool {
	return now >= l.end()-time.Duration(l>>halfShift&halfMax)*time.Millisecond
}

// Renewal is an entry whose lease is to be renewed: the server is sent Ref
// (record.Heap.GrantMany).
type Renewal struct {
	Hash  uint64
	Ref   record.Ref
	Until time.Duration
}

// maxRenewals bounds the renewals that wait: 64 messages of 64. If more are due between
// two calls of Due the oldest are dropped, and their keys are looked up when their
// leases have ended.
const maxRenewals = 4096

// renewals is a ring of renewals that wait.
type renewals struct {
	waiting atomic.Int64 // length, for Waiting
	turn    atomic.Int64 // when Turn was last granted

	mu    sync.Mutex
	ring  []Renewal
	first int // the oldest
}

func (q *renewals) add(r Renewal) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := int(q.waiting.Load())
	q.ring[(q.first+n)%len(q.ring)] = r
	if n < len(q.ring) {
		q.waiting.Store(int64(n + 1))
	} else {
		q.first = (q.first + 1) % len(q.ring)
	}
}

// Waiting is the number of renewals that wait, those included whose leases have ended.
// It takes no lock.
func (p *Pointers) Waiting() int { return int(p.due.waiting.Load()) }

// Turn reports whether the caller is to renew leases now: no call has returned true
// since now - every. So of many clients of a process one at a time sends the renewals,
// in one message instead of many.
func (p *Pointers) Turn(now, every time.Duration) bool {
	last := p.due.turn.Load()
	return int64(now)-last >= int64(every) && p.due.turn.CompareAndSwap(last, int64(now))
}

// Due appends to dst up to most renewals, the longest waiting first. Each is returned
// once for each of its leases. The caller sends the references in one message and calls
// Renewed for each lease granted, counted from when that message was sent, and Forget
// for those that the server did not grant. If it does nothing, the leases end.
//
// A lease of a second is in the ring for half of that. So a client that calls Due
// every 100 ms, or as soon as a message's worth is Waiting, is in time.
func (p *Pointers) Due(now time.Duration, dst []Renewal, most int) []Renewal {
	q := p.due
	if q.waiting.Load() == 0 {
		return dst
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	n := int(q.waiting.Load())
	for ; n > 0 && most > 0; n-- {
		if r := q.ring[q.first]; r.Until > now {
			dst = append(dst, r)
			most--
		}
		q.first = (q.first + 1) % len(q.ring)
	}
	q.waiting.Store(int64(n))
	return dst
}
