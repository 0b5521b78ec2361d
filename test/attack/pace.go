package attack

import (
	"context"
	"sync"
	"time"
)

// floodRate is how many connections a second all floods together make: as many
// as the server promises to bear. An attack limited only by the machine would
// only show how the machine shares its cores.
const floodRate = 10_000

// pacer allows a number of events a second, evenly. Safe for concurrent use.
type pacer struct {
	mu    sync.Mutex
	every time.Duration
	next  time.Time
}

func newPacer(perSecond int) *pacer {
	return &pacer{every: time.Second / time.Duration(perSecond), next: time.Now()}
}

// wait returns when it is time for the next event. Events missed because the
// machine was busy are not made up for.
func (p *pacer) wait(ctx context.Context) {
	p.mu.Lock()
	now := time.Now()
	if p.next.Before(now.Add(-10 * time.Millisecond)) {
		p.next = now
	}
	at := p.next
	p.next = p.next.Add(p.every)
	p.mu.Unlock()
	if d := at.Sub(now); d > time.Millisecond { // less is not worth a timer
		pause(ctx, d)
	}
}

// floods are the attacks that share floodRate.
func floods(attacks []Attack) (n int) {
	for _, a := range attacks {
		if a.flood {
			n++
		}
	}
	return max(1, n)
}
