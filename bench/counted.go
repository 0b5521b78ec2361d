package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/child"
)

// warmupShare: a run by count warms up with a tenth as many calls again,
// which fills the clients' caches of internal nodes and grows the rings'
// buffers; the paper does not say how it warmed up.
const warmupShare = 10

// reportCounted makes the job's number of calls, or as many as time permits, and
// sends one sample of them. Between warm-up and measure it waits for the parent,
// so that all processes begin together and the server's usage is read in between.
func (l *load) reportCounted(ctx context.Context, p *child.Pipe, again <-chan struct{}) error {
	calls, most := l.job.Requests, l.job.Interval
	if err := l.run(ctx, (calls+warmupShare-1)/warmupShare, most/warmupShare); err != nil {
		return err
	}
	if err := harness.Say(p, "phase", Warm); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil // The parent has ended.
	case <-again:
	}
	l.take() // Drop the sample of the warm-up.
	moments := l.watch()
	err := l.run(ctx, calls, most)
	s := l.take()
	s.Moments = moments()
	if err != nil || ctx.Err() != nil {
		return err
	}
	// At once: the parent's next reading of the server ends the interval,
	// and packing histograms takes milliseconds.
	if err := harness.Say(p, "phase", Done); err != nil {
		return err
	}
	return harness.Say(p, "sample", s)
}

// measureCounted lets the clients warm up and make their calls, and reads the
// server's usage before the first and after the last of them.
func (o *outcome) measureCounted(ctx context.Context, srv *child.Process, clients harness.Clients) error {
	release := func(until Phase) error {
		if err := clients.Go(); err != nil {
			return err
		}
		said, err := harness.Each[Phase](ctx, clients, "phase")
		for _, phase := range said {
			if phase != until {
				return fmt.Errorf("%w (client) is not %s, but says %s", child.ErrFailed, until, phase)
			}
		}
		return err
	}
	if err := release(Warm); err != nil {
		return err
	}
	from, err := usageOf(ctx, srv)
	if err != nil {
		return err
	}
	if err := release(Done); err != nil {
		return err
	}
	to, err := usageOf(ctx, srv)
	if err != nil {
		return err
	}
	o.Span = to.Since(from)
	o.samples, err = harness.Each[*Sample](ctx, clients, "sample")
	return err
}

// watch records moments until the returned function is called, which
// returns them.
func (l *load) watch() func() []Moment {
	began, stop, ended := time.Now(), make(chan struct{}), make(chan struct{})
	var t timeline
	last := l.total(0)
	add := func() {
		m := l.total(time.Since(began))
		t.add(Moment{
			At: m.At, Fast: m.Fast - last.Fast, Offloaded: m.Offloaded - last.Offloaded,
			Util: m.Util,
		})
		last = m
	}
	go func() {
		defer close(ended)
		tick := time.NewTicker(momentEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				add()
			}
		}
	}()
	return func() []Moment {
		close(stop)
		<-ended
		add() // The part after the last tick.
		return t.moments
	}
}

// total adds up what the connections have counted so far.
func (l *load) total(at time.Duration) Moment {
	m := Moment{At: at}
	for _, c := range l.conns {
		n, g := c.Counters(), c.Gauges()
		m.Fast += n.Fast
		m.Offloaded += n.Offloaded
		m.Util = max(m.Util, g.ServerUtil)
	}
	return m
}
