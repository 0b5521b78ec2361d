//go:build linux

package rounds

import (
	"context"
	"fmt"
	"time"
)

// traceEvery is the interval between looks at the group.
const traceEvery = 100 * time.Millisecond

// log says when something happened, on the clock of the operations.
func (r *round) log(format string, args ...any) {
	if r.o.Trace != nil {
		fmt.Fprintf(r.o.Trace, "  %.0f ms: %s\n", float64(clock())/1e6, fmt.Sprintf(format, args...))
	}
}

// trace looks at the group until it is stopped, and says what has changed.
func (r *round) trace(ctx context.Context) (stop func()) {
	if r.o.Trace == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for last := ""; ctx.Err() == nil; {
			now := ""
			if g, err := r.c.status(ctx); err == nil {
				now = g.String()
			} else {
				now = err.Error()
			}
			if now != last && ctx.Err() == nil {
				r.log("%s", now)
			}
			last = now
			select {
			case <-time.After(traceEvery):
			case <-ctx.Done():
			}
		}
	}()
	return func() {
		cancel()
		<-done
		for _, m := range r.c.members {
			if p := m.p.Load(); p != nil {
				r.log("%s has said:\n%s", m.Node, p.Output())
			}
		}
	}
}
