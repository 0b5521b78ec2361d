package client

import (
	"context"
	"math/rand/v2"
	"time"
)

// Back-off between attempts: the shortest pause lets a restart go unnoticed, the longest
// keeps a thousand clients from hammering a dead server.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// pauses are those between attempts: each about twice the last, and half of it at
// random, so that clients that failed together do not try again together.
type pauses struct{ next time.Duration }

// atMost makes the next pause no longer than d.
func (p *pauses) atMost(d time.Duration) *pauses {
	p.next = min(p.next, d)
	return p
}

// wait pauses, and reports false if ctx has ended.
func (p *pauses) wait(ctx context.Context) bool { return p.waitFor(ctx, nil) }

// waitFor is wait that ends as soon as there is something to try.
func (p *pauses) waitFor(ctx context.Context, ready <-chan struct{}) bool {
	p.next = min(max(p.next, firstPause), lastPause)
	t := time.NewTimer(p.next/2 + rand.N(p.next))
	defer t.Stop()
	p.next *= 2
	select {
	case <-t.C:
		return true
	case <-ready:
		return true
	case <-ctx.Done():
		return false
	}
}
