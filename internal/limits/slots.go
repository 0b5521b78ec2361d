package limits

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/netpoll"
)

// Quantum is how long a scheduling slot lasts: long enough that handing over,
// which wakes another thread (50 us), costs little.
const Quantum = time.Millisecond

// Slots are scheduling slots for long jobs, a few at a time: the long requests of
// a server, so that they leave processors to the others. They go round robin to
// sources, and to the jobs of each source, so that a source with very many jobs
// delays its own. All methods are safe for concurrent use.
type Slots struct {
	mu   sync.Mutex
	free int
	line []*waiters // sources with waiting jobs, in the order of their slots
	by   map[string]*waiters

	alone  bool           // one job runs at a time: it uses poller
	poller netpoll.Poller // for one processor (package netpoll)
}

// source lists the waiting jobs of one source, oldest first.
type waiters struct {
	name string
	jobs []*Slot
}

// Slot is one job's scheduling slot, or its wait for one.
type Slot struct {
	of      *Slots
	from    string
	granted func()
	since   time.Time // start of its first step; used by the job
	state   state     // guarded by Slots.mu
}

type state uint8

const (
	waiting state = iota
	running
	over
)

// NewSlots returns Slots of which n jobs run at a time.
func NewSlots(n int) *Slots {
	return &Slots{free: n, by: map[string]*waiters{}, alone: n == 1, poller: netpoll.Poller{Every: Quantum / 10}}
}

// NewLongSlots returns the Slots of a server's long jobs: half of the processors.
func NewLongSlots() *Slots { return NewSlots(max(1, runtime.GOMAXPROCS(0)/2)) }

// Join adds a job. If it may run at once, now is true; otherwise granted is
// called when it may, from any goroutine, and must not wait. The caller of
// Join calls Leave, once.
func (t *Slots) Join(from string, granted func()) (turn *Slot, now bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn = &Slot{of: t, from: from, granted: granted}
	if t.free > 0 {
		t.free--
		turn.state = running
		return turn, true
	}
	s := t.by[from]
	if s == nil {
		s = &waiters{name: from}
		t.by[from] = s
		t.line = append(t.line, s)
	}
	s.jobs = append(s.jobs, turn)
	return turn, false
}

// Over reports whether a job that runs has run for a Quantum since the first
// call. It is called by the job, before each step.
func (n *Slot) Over() bool {
	if n.since.IsZero() {
		n.since = time.Now()
	}
	return time.Since(n.since) >= Quantum
}

// Leave ends the slot, or the wait for it. A second call does nothing.
func (n *Slot) Leave() {
	if next := n.leave(); next != nil {
		next.granted()
	}
}

// leave returns the job that may run now, nil if there is none.
func (n *Slot) leave() (next *Slot) {
	t := n.of
	t.mu.Lock()
	defer t.mu.Unlock()
	switch n.state {
	case waiting:
		s := t.by[n.from]
		s.jobs = slices.DeleteFunc(s.jobs, func(q *Slot) bool { return q == n })
		if len(s.jobs) == 0 {
			delete(t.by, s.name)
			t.line = slices.DeleteFunc(t.line, func(q *waiters) bool { return q == s })
		}
	case running:
		if next = t.next(); next == nil {
			t.free++
		}
	}
	n.state = over
	return next
}

// next takes the job that gets the next slot, nil if none waits.
func (t *Slots) next() *Slot {
	if len(t.line) == 0 {
		return nil
	}
	s := t.line[0]
	t.line[0] = nil
	t.line = t.line[1:]
	n := s.jobs[0]
	s.jobs[0] = nil
	if s.jobs = s.jobs[1:]; len(s.jobs) > 0 {
		t.line = append(t.line, s)
	} else {
		delete(t.by, s.name)
	}
	n.state = running
	return n
}

// RunStep calls step, which may take about a tenth of a Quantum, in a slot of
// its own. It returns the cause of ctx's end if that comes first.
func (t *Slots) RunStep(ctx context.Context, from string, step func()) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	granted := make(chan struct{})
	turn, now := t.Join(from, func() { close(granted) })
	defer turn.Leave()
	if !now {
		select {
		case <-granted:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	step()
	if t.alone {
		// While jobs hand over to each other, no processor looks at sockets.
		t.poller.Poll()
	}
	return nil
}
