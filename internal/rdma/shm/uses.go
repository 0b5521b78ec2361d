package shm

import "sync/atomic"

// uses counts the users of an object that may be taken down at any time: a
// user that acquired it may use it until release; the last one to leave, or
// end if there is none, runs down.
//
//	n >= 0          open, n users
//	n = ended + k   ended, k users (or failed acquires on their way out)
type uses struct {
	n    atomic.Int64
	gone atomic.Bool
	down func()
}

// ended is far below any number of users.
const ended = -1 << 62

// acquire reports whether the object may be used.
func (u *uses) acquire() bool {
	if u.n.Add(1) > 0 {
		return true
	}
	u.release()
	return false
}

func (u *uses) release() {
	// A failed acquire may bring n back to ended a second time, hence
	// gone.
	if u.n.Add(-1) == ended && u.gone.CompareAndSwap(false, true) {
		u.down()
	}
}

// end is called once.
func (u *uses) end() {
	if u.n.Add(ended) == ended && u.gone.CompareAndSwap(false, true) {
		u.down()
	}
}
