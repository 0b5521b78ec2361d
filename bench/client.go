package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/child"
)

// ClientMain runs a client child. It returns after the last sample, when in
// ends, when ctx is done or a call fails.
func ClientMain(ctx context.Context, in io.Reader, out io.Writer, dial Dialer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := child.NewPipe(in, out)
	var job ClientJob
	if err := p.Read(&job); err != nil {
		return p.Fail(err)
	}
	if job.Clients < 1 {
		return p.Fail(fmt.Errorf("%w: a process without clients", ErrConfig))
	}
	conns, err := dialAll(ctx, job, dial)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	if err != nil {
		return p.Fail(err)
	}
	l, err := newLoad(ctx, job, conns)
	if err != nil {
		return p.Fail(err)
	}
	ready, err := verify(ctx, job, conns)
	if err != nil {
		return p.Fail(err)
	}
	if err := p.Write(fromChild{Client: &ready}); err != nil {
		return err
	}
	var cmd toChild
	if err := p.Read(&cmd); err != nil || !cmd.Go {
		return p.Fail(err)
	}
	again := make(chan struct{}, 1)
	go func() { // The process ends with its input.
		for p.Read(&cmd) == nil {
			select {
			case again <- struct{}{}:
			default: // An unexpected message.
			}
		}
		cancel()
	}()
	if job.Requests > 0 {
		return p.Fail(l.reportCounted(ctx, p, again))
	}
	return p.Fail(l.report(ctx, p))
}

// dialAtOnce is how many connections are opened at a time: each waits for the
// server, which may have a busy thread for every other one.
const dialAtOnce = 16

// dialAll opens the job's connections. With an error it returns those that are
// open.
func dialAll(ctx context.Context, job ClientJob, dial Dialer) ([]Conn, error) {
	var (
		conns = make([]Conn, job.Clients)
		errs  = make([]error, job.Clients)
		slots = make(chan struct{}, dialAtOnce)
		group sync.WaitGroup
	)
	for i := range conns {
		slots <- struct{}{}
		group.Go(func() {
			conns[i], errs[i] = dial(ctx, job)
			<-slots
		})
	}
	group.Wait()
	open := slices.DeleteFunc(conns, func(c Conn) bool { return c == nil })
	for _, err := range errs {
		if err != nil {
			return open, err // The other errors are the same.
		}
	}
	return open, nil
}

// report runs the load, follows the job's steps and sends the samples.
func (l *load) report(ctx context.Context, p *child.Pipe) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	start := time.Now()
	if s := l.job.Steps; len(s) > 0 && s[0].After <= 0 {
		l.pause.Store(int64(s[0].Pause)) // Before the first call.
	}
	go func() { ended <- l.run(ctx, 0, 0) }()
	for i := -1; i < l.job.Samples; i++ {
		due := start.Add(l.job.Warmup + time.Duration(i+1)*l.job.Interval)
		only := i == 0 && l.job.Samples == 1
		if whole := l.lastTime.Add(l.job.Interval); only && due.Before(whole) {
			due = whole // The warm-up's end came late.
		}
		if ok, err := l.wait(due, start, ended); !ok {
			return err
		}
		// No call means that the machine ran something else.
		for only && !l.called() {
			if ok, err := l.wait(time.Now().Add(callEvery), start, ended); !ok {
				return err
			}
		}
		s := l.take()
		if i < 0 { // The sample of the warm-up.
			continue
		}
		if err := p.Write(fromChild{Sample: s}); err != nil {
			return err
		}
	}
	cancel()
	return <-ended
}

// callEvery is how often a sample past its end looks for the first call.
const callEvery = 10 * time.Millisecond

// called reports whether a call has ended since the last sample.
func (l *load) called() bool {
	for _, w := range l.works {
		w.mu.Lock()
		for _, lat := range w.seen.latency {
			if lat.Count() > 0 {
				w.mu.Unlock()
				return true
			}
		}
		w.mu.Unlock()
	}
	return false
}

// wait sleeps until due, carrying out the steps that fall before it. It
// returns false when the load ended first.
func (l *load) wait(due, start time.Time, ended <-chan error) (bool, error) {
	for {
		next, step := due, false
		if len(l.job.Steps) > 0 {
			if at := start.Add(l.job.Steps[0].After); at.Before(due) {
				next, step = at, true
			}
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case err := <-ended:
			timer.Stop()
			return false, err
		case <-timer.C:
		}
		if !step {
			return true, nil
		}
		l.pause.Store(int64(l.job.Steps[0].Pause))
		l.job.Steps = l.job.Steps[1:]
	}
}
