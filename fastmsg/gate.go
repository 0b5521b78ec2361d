package fastmsg

import (
	"context"
	"sync"
	"sync/atomic"
)

// gate stops a loop between two turns, and lets it continue.
type gate struct {
	shut    atomic.Bool // resume != nil, for a check without the lock
	mu      sync.Mutex
	resume  chan struct{} // closed by open
	resting chan struct{} // closed by the loop when it stops
	running bool
}

// close returns when the loop has stopped, or does not run. wake wakes the
// loop if it sleeps.
func (g *gate) close(wake func()) {
	g.mu.Lock()
	if g.resume == nil {
		g.resume = make(chan struct{})
		g.resting = make(chan struct{})
		g.shut.Store(true)
		if !g.running {
			close(g.resting)
		}
	}
	resting := g.resting
	g.mu.Unlock()
	wake()
	<-resting
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.resume != nil {
		close(g.resume)
		g.resume = nil
		g.shut.Store(false)
	}
}

// pass is called by the loop between turns; it returns when the gate is
// open or ctx is done.
func (g *gate) pass(ctx context.Context) error {
	for g.shut.Load() {
		g.mu.Lock()
		resume := g.resume
		if resume == nil {
			g.mu.Unlock()
			return nil
		}
		g.restLocked()
		g.mu.Unlock()
		select {
		case <-resume:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (g *gate) restLocked() {
	select {
	case <-g.resting:
	default:
		close(g.resting)
	}
}

// enter and leave are called when the loop begins and ends.
func (g *gate) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = false
	if g.resume != nil {
		g.restLocked()
	}
}
