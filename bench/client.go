package bench

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/child"
)

// ClientMain runs a client child. It returns after the last sample, when in
// ends, when ctx is done or a call fails.
func ClientMain(ctx context.Context, in io.Reader, out io.Writer, dial Dialer) error {
	return harness.ClientMain(ctx, in, out, func(ctx context.Context, job ClientJob, _ func(string), atEnd func(func())) (w harness.Work, err error) {
		if job.Clients < 1 {
			return w, fmt.Errorf("%w: a process without clients", harness.ErrConfig)
		}
		conns, err := harness.DialAll(job.Clients, func(int) (Conn, error) { return dial(ctx, job) })
		if err != nil {
			return w, err
		}
		atEnd(func() {
			for _, c := range conns {
				c.Close()
			}
		})
		l, err := newLoad(ctx, job, conns)
		if err != nil {
			return w, err
		}
		w.Ready, err = verify(ctx, job, conns)
		w.Run = l.report
		if job.Requests > 0 {
			w.Run = l.reportCounted
		}
		return w, err
	})
}

// report runs the load, follows the job's steps and sends the samples.
func (l *load) report(ctx context.Context, p *child.Pipe, _ <-chan struct{}) error {
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
		if err := harness.Say(p, "sample", s); err != nil {
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
