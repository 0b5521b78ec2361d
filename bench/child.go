package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/catfish-index/catfish/rstar"
)

// Server is the system under test inside a server child.
type Server interface {
	// Addr is where clients dial.
	Addr() string
	// NodeBytes and Len describe the tree once it is loaded.
	NodeBytes() int
	Len() int
	// Bounds contains the loaded data.
	Bounds() rstar.Rect
	Transports() []string
	Close() error
}

// StartServer loads the job's data and serves it until Close. It calls
// note now and then with what it is doing.
type StartServer func(ctx context.Context, job ServerJob, note func(string)) (Server, error)

// pipe is a child's end of the conversation with its parent.
type pipe struct {
	in  *bufio.Reader
	out *json.Encoder
}

func newPipe(in io.Reader, out io.Writer) *pipe {
	return &pipe{in: bufio.NewReader(in), out: json.NewEncoder(out)}
}

// read decodes one line; io.EOF when the parent is gone.
func (p *pipe) read(v any) error {
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		return io.EOF
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("bench: line from the parent: %w", err)
	}
	return nil
}

// fail tells the parent why the child ends.
func (p *pipe) fail(err error) error {
	if err != nil && !errors.Is(err, io.EOF) {
		_ = p.out.Encode(fromChild{Error: err.Error()})
		return err
	}
	return nil
}

// ServerMain is the life of a server child: in and out are its standard
// input and output. It returns when in ends or ctx is done.
func ServerMain(ctx context.Context, in io.Reader, out io.Writer, start StartServer) error {
	began := time.Now()
	p := newPipe(in, out)
	var job ServerJob
	if err := p.read(&job); err != nil {
		return p.fail(err)
	}
	srv, err := start(ctx, job, func(s string) { _ = p.out.Encode(fromChild{Note: s}) })
	if err != nil {
		return p.fail(err)
	}
	defer srv.Close()
	if err := p.out.Encode(fromChild{Server: &ServerReady{
		Addr: srv.Addr(), Objects: srv.Len(), Bounds: srv.Bounds(),
		NodeBytes: srv.NodeBytes(), Transports: srv.Transports(),
	}}); err != nil {
		return err
	}
	for ctx.Err() == nil {
		var cmd toChild
		if err := p.read(&cmd); err != nil {
			return p.fail(err)
		}
		if !cmd.Usage {
			continue
		}
		u, err := usageSince(began)
		if err != nil {
			return p.fail(err)
		}
		if err := p.out.Encode(fromChild{Usage: &u}); err != nil {
			return err
		}
	}
	return nil
}

// ClientMain is the life of a client child. It returns after the last
// sample, when in ends, when ctx is done or a call fails.
func ClientMain(ctx context.Context, in io.Reader, out io.Writer, dial Dialer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := newPipe(in, out)
	var job ClientJob
	if err := p.read(&job); err != nil {
		return p.fail(err)
	}
	conns := make([]Conn, 0, job.Clients)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for range job.Clients {
		c, err := dial(ctx, job)
		if err != nil {
			return p.fail(err)
		}
		conns = append(conns, c)
	}
	if len(conns) == 0 {
		return p.fail(fmt.Errorf("%w: a process without clients", ErrConfig))
	}
	l, err := newLoad(ctx, job, conns)
	if err != nil {
		return p.fail(err)
	}
	ready, err := verify(ctx, job, conns)
	if err != nil {
		return p.fail(err)
	}
	if err := p.out.Encode(fromChild{Client: &ready}); err != nil {
		return err
	}
	var cmd toChild
	if err := p.read(&cmd); err != nil || !cmd.Go {
		return p.fail(err)
	}
	again := make(chan struct{}, 1)
	go func() { // Its end is ours.
		for p.read(&cmd) == nil {
			select {
			case again <- struct{}{}:
			default: // More than it should say.
			}
		}
		cancel()
	}()
	if job.Requests > 0 {
		return p.fail(l.reportCounted(ctx, p, again))
	}
	return p.fail(l.report(ctx, p))
}

// report runs the load, follows the job's steps and sends the samples.
func (l *load) report(ctx context.Context, p *pipe) error {
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
		if ok, err := l.wait(due, start, ended); !ok {
			return err
		}
		s := l.take()
		if i < 0 { // The warm-up's.
			continue
		}
		if err := p.out.Encode(fromChild{Sample: s}); err != nil {
			return err
		}
	}
	cancel()
	return <-ended
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
