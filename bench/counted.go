package bench

import (
	"context"
	"fmt"
	"time"
)

// warmupShare: a run by count warms up with a tenth as many calls again,
// which fills the clients' caches of internal nodes and grows the rings'
// buffers; the paper does not say how it warmed up.
const warmupShare = 10

// reportCounted makes the job's number of calls, or as many as there is
// time for, and sends one sample of them. Between warm-up and measure it waits for the parent, so that all
// processes begin together and the server's usage is read in between.
func (l *load) reportCounted(ctx context.Context, p *pipe, again <-chan struct{}) error {
	calls, most := l.job.Requests, l.job.Interval
	if err := l.run(ctx, (calls+warmupShare-1)/warmupShare, most/warmupShare); err != nil {
		return err
	}
	if err := p.out.Encode(fromChild{Phase: Warm}); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil // The parent is gone.
	case <-again:
	}
	l.take() // The warm-up's.
	moments := l.watch()
	err := l.run(ctx, calls, most)
	s := l.take()
	s.Moments = moments()
	if err != nil || ctx.Err() != nil {
		return err
	}
	// At once: the parent's next reading of the server ends the interval,
	// and packing histograms takes milliseconds.
	if err := p.out.Encode(fromChild{Phase: Done}); err != nil {
		return err
	}
	return p.out.Encode(fromChild{Sample: s})
}

// measureCounted has the clients warm up and make their calls, and reads
// the server's usage before the first and after the last of them.
func (o *outcome) measureCounted(ctx context.Context, srv *child, clients []*child) error {
	release := func(until Phase) error {
		for _, c := range clients {
			if err := c.send(toChild{Go: true}); err != nil {
				return err
			}
		}
		for _, c := range clients {
			m, err := c.next(ctx)
			if err != nil {
				return err
			}
			if m.Phase != until {
				return fmt.Errorf("%w (client) is not %s, but says %+v", ErrChild, until, m)
			}
		}
		return nil
	}
	if err := release(Warm); err != nil {
		return err
	}
	from, err := srv.usage(ctx)
	if err != nil {
		return err
	}
	if err := release(Done); err != nil {
		return err
	}
	to, err := srv.usage(ctx)
	if err != nil {
		return err
	}
	o.span = spanOf(from, to)
	for _, c := range clients {
		s, err := c.sample(ctx)
		if err != nil {
			return err
		}
		o.samples = append(o.samples, s)
	}
	return nil
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
		add() // What came after the last tick.
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
