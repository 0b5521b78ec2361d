package paper

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/netns"
	"github.com/catfish-index/catfish/internal/child"
)

// Runner measures the cells whose points its Store lacks.
type Runner struct {
	Settings Settings
	Store    *Store
	Spawn    child.Spawn
	Known    []string // schemes
	// Queries is the file of rectangles for figure 14.
	Queries string
	// Note gets lines about progress, Progress is called after each point.
	// Both are called from Run's goroutine.
	Note     func(string)
	Progress func(Progress[Point])

	now func() time.Time // time.Now, except in tests
}

// Progress is the progress of a run.
type Progress[P any] struct {
	Done, Total int // points of this call, without those in the store before
	Left        time.Duration
	Point       P
}

// Missing counts the points of cells that the store lacks.
func (r *Runner) Missing(cells []Cell) int {
	n := 0
	for _, c := range cells {
		n += len(r.left(c))
	}
	return n
}

// left returns the series of a cell that the store lacks.
func (r *Runner) left(c Cell) []Series {
	return slices.DeleteFunc(slices.Clone(c.Series), func(s Series) bool {
		return r.Store.Has(c.Key(s.Name))
	})
}

// Run measures the missing points and stores each as soon as it is measured,
// so that a later Run continues after an error or an interrupt. Networks are
// removed before it returns.
func (r *Runner) Run(ctx context.Context, cells []Cell) (err error) {
	if r.now == nil {
		r.now = time.Now
	}
	p := Progress[Point]{Total: r.Missing(cells)}
	var pace pace
	var missing []Cell
	for _, c := range cells {
		if c.Series = r.left(c); len(c.Series) > 0 {
			missing = append(missing, c)
		}
	}
	return overNetworks(ctx, missing, func(c Cell) Network { return c.Network }, r.Note, func(c Cell, link *netns.Link) error {
		began := r.now()
		return r.cell(ctx, c, link, func(pt Point) error {
			if err := r.Store.Add(pt); err != nil {
				return err
			}
			now := r.now()
			pace.add(pt, now.Sub(began))
			began = now
			p.Done++
			p.Left, p.Point = r.timeLeft(cells, &pace), pt
			r.Progress(p)
			return nil
		})
	})
}

// pace is the time that points took so far.
type pace struct {
	points        int
	calls         float64
	calling, rest time.Duration // with and without calls in flight
}

// add counts a point that took the time took, over all of its runs.
func (p *pace) add(pt Point, took time.Duration) {
	var calling time.Duration
	for i, opsPerS := range pt.Row.Runs {
		if d := pt.Row.Detail; d != nil && i < len(d.Calls) && opsPerS > 0 {
			p.calls += float64(d.Calls[i])
			calling += time.Duration(float64(d.Calls[i]) / opsPerS * float64(time.Second))
		}
	}
	p.points++
	p.calling += calling
	p.rest += max(0, took-calling)
}

// point predicts the time of a point: that of others besides their calls, for
// loading the data and warming up; and its calls at the mean speed of all so
// far, or until they are cut.
func (p *pace) point(runs, calls int, most time.Duration) time.Duration {
	if p.points == 0 || p.calls == 0 {
		return 0
	}
	run := time.Duration(float64(p.calling) / p.calls * float64(calls))
	if most > 0 {
		run = min(run, most)
	}
	return p.rest/time.Duration(p.points) + time.Duration(runs)*run
}

// timeLeft adds up the times of the missing points.
func (r *Runner) timeLeft(cells []Cell, p *pace) time.Duration {
	var left time.Duration
	s := r.Settings
	for _, c := range cells {
		left += time.Duration(len(r.left(c))) * p.point(s.Repeat, c.Clients*s.Requests, s.Duration)
	}
	return left
}

// cell measures one cell and hands over a point for each of its series.
func (r *Runner) cell(ctx context.Context, c Cell, link *netns.Link, keep func(Point) error) error {
	cfg, err := c.config(r.Settings)
	if err != nil {
		return err
	}
	if c.Panel.Dataset == rea02 {
		cfg.Queries = r.Queries
	}
	spawn, entered := within(link, r.Spawn)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	_, err = bench.Run(ctx, cfg, spawn, r.Known, r.Note, func(row bench.Row) {
		series := c.seriesOf(row.Scheme)
		if err := keep(Point{
			Key: c.Key(series), Experiment: c.Experiment.Name, Panel: c.Panel.Name,
			Network: c.Network, Series: series, Measured: r.now().UTC().Round(time.Second),
			Settings: r.Settings, Row: row,
		}); err != nil {
			cancel(err) // Points that cannot be stored need no measuring.
		}
	})
	// If storing the last point fails, Run has nothing left to cancel.
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return errors.Join(*entered, err)
}
