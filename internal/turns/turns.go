// Package turns lets a few of many long jobs run at a time, in turn: the
// requests of a server that take long, so that they leave processors to the
// others.
package turns

import (
	"context"
	"sync"
	"time"
)

// Quantum is how long a job runs before the next one's turn: long enough that
// handing over, which wakes another thread (50 us), costs little.
const Quantum = time.Millisecond

// Turns is a queue of jobs, of which the first few run. All methods are safe
// for concurrent use.
type Turns struct {
	mu    sync.Mutex
	free  int
	queue []*Turn // that wait, oldest first
}

// Turn is one job's.
type Turn struct {
	of      *Turns
	granted func()
	since   time.Time // when it began; written before granted is called
	state   state     // guarded by Turns.mu
}

type state uint8

const (
	waiting state = iota
	running
	over
)

// New returns a queue of which n jobs run at a time.
func New(n int) *Turns { return &Turns{free: n} }

// Join puts a job into the queue. If it may run at once, now is true; otherwise
// granted is called when it may, from any goroutine, and must not wait. Whoever
// joins leaves, once.
func (t *Turns) Join(granted func()) (turn *Turn, now bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn = &Turn{of: t, granted: granted}
	if t.free > 0 {
		t.free--
		turn.begin()
		return turn, true
	}
	t.queue = append(t.queue, turn)
	return turn, false
}

// begin is called with Turns.mu held.
func (n *Turn) begin() {
	n.state, n.since = running, time.Now()
}

// Over reports whether a job that runs has run for a Quantum. It is called by
// the job.
func (n *Turn) Over() bool { return time.Since(n.since) >= Quantum }

// Leave ends the turn, or the wait for it. A second time does nothing.
func (n *Turn) Leave() {
	if next := n.leave(); next != nil {
		next.granted()
	}
}

// leave returns the job that may run now, nil if there is none.
func (n *Turn) leave() (next *Turn) {
	t := n.of
	t.mu.Lock()
	defer t.mu.Unlock()
	switch n.state {
	case waiting:
		for i, q := range t.queue {
			if q == n {
				t.queue = append(t.queue[:i], t.queue[i+1:]...)
				break
			}
		}
	case running:
		if len(t.queue) == 0 {
			t.free++
			break
		}
		next = t.queue[0]
		t.queue[0] = nil
		t.queue = t.queue[1:]
		next.begin()
	}
	n.state = over
	return next
}

// Run calls step, which may take about a tenth of a Quantum, when it is its
// turn. It returns the cause of ctx's end if that comes first.
func (t *Turns) Run(ctx context.Context, step func()) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	granted := make(chan struct{})
	turn, now := t.Join(func() { close(granted) })
	defer turn.Leave()
	if !now {
		select {
		case <-granted:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	step()
	return nil
}
