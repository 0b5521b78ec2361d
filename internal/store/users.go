package store

import (
	"sync"
	"sync/atomic"
)

// users counts the calls inside a collection, for whose end its close waits. Calls
// come in while it waits, and are refused: that is what a sync.WaitGroup does not
// allow (it panics where an Add from zero meets a Wait).
//
//	n   calls inside, including those that are about to be refused, and one more
//	    for the collection, until close
//
// The call that brings n to 0 closes gone: before close no call does, and calls that
// come in later bring n there again, without effect. A call that came in before close
// keeps n above 0 until it leaves.
type users struct {
	n      atomic.Int64
	closed atomic.Bool
	once   sync.Once
	gone   chan struct{}
}

func newUsers() *users {
	u := &users{gone: make(chan struct{})}
	u.n.Store(1)
	return u
}

// enter lets a call in until leave; not ok after close.
func (u *users) enter() (ok bool) {
	u.n.Add(1)
	if u.closed.Load() {
		u.leave()
		return false
	}
	return true
}

func (u *users) leave() {
	if u.n.Add(-1) == 0 {
		u.once.Do(func() { close(u.gone) })
	}
}

// close waits for the calls that are inside; later ones are refused. A second
// call only waits.
func (u *users) close() {
	if !u.closed.Swap(true) {
		u.leave()
	}
	<-u.gone
}
