package api

import (
	"context"
	"runtime"
)

// turns lets a few long calls work at a time, in the order in which they
// asked. A call gives its turn back after each step, so that what is short is
// never behind what is long, and leaves the other processors to calls that
// take no turns.
type turns chan struct{}

// newTurns leaves at least half of the processors, if there are two.
func newTurns() turns { return make(turns, max(1, runtime.GOMAXPROCS(0)/2)) }

// run calls step when it is this call's turn. The error is the reason why ctx
// ended before that. Senders to a full channel are served first come first
// served.
func (t turns) run(ctx context.Context, step func()) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-t }()
	step()
	return nil
}
