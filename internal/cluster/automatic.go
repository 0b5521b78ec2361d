package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Automatic is how a planner begins moves without a command.
type Automatic struct {
	Name  string        // of the planner, for operators
	Every time.Duration // between the beginnings of plans, at least; also of two planners
	// Plan are the options of each plan. Its Slots bound what a plan moves.
	Plan   Options
	Logger *slog.Logger
}

// Of a planner whose operator says nothing else. The tolerance is twice that of a command: what each
// group has grows and shrinks, and moves cost a scan of a store.
const (
	DefaultEvery     = 10 * time.Minute
	DefaultTolerance = 0.1
	leastEvery       = time.Second
)

// Check returns what is wrong with the options; it wraps ErrRefused.
func (a *Automatic) Check() error {
	switch {
	case a.Every < leastEvery:
		return fmt.Errorf("%w: %v between plans, want %v or more", ErrRefused, a.Every, leastEvery)
	case a.Plan.Slots < 1:
		return fmt.Errorf("%w: %d slots in a plan, want 1 or more", ErrRefused, a.Plan.Slots)
	case !(a.Plan.Tolerance > 0 && a.Plan.Tolerance <= 1):
		return fmt.Errorf("%w: a tolerance of %v, want more than 0, to 1", ErrRefused, a.Plan.Tolerance)
	}
	return nil
}

// Run is a planner until ctx is done: as long as it has the term, it rebalances at times. Its
// only state is the map: after a planner that was lost, the next one continues by it.
func (a *Automatic) Run(ctx context.Context, r Registry) {
	var c candidate
	var said quiet
	for ctx.Err() == nil {
		t, err := c.take(ctx, r, a.Name)
		if t != nil {
			a.lead(ctx, t)
			continue
		}
		said.warn(ctx, a.Logger, "the planner cannot ask the coordinators", err)
		pause(ctx, beatEvery)
	}
}

// lead plans until the term ends.
func (a *Automatic) lead(ctx context.Context, t *term) {
	a.Logger.Info("this planner begins moves between groups", "planner", a.Name, "term", t.is.Term)
	leads, lost := context.WithCancelCause(ctx)
	last := t.is.Planned
	beats := make(chan struct{})
	go func() {
		defer close(beats)
		var said quiet
		for pause(leads, beatEvery) {
			err := t.beat(leads, time.Time{})
			if errors.Is(err, ErrTermEnded) {
				lost(err)
				return
			}
			said.warn(leads, a.Logger, "the planner cannot keep its term", err)
		}
	}()
	var said quiet
	for pause(leads, min(a.Every, time.Until(last.Add(a.Every)))) {
		last = time.Now()
		err := a.plan(leads, t, last)
		if errors.Is(err, ErrTermEnded) {
			lost(err)
			break
		}
		said.warn(leads, a.Logger, "the planner begins no moves", err)
	}
	if err := context.Cause(leads); errors.Is(err, ErrTermEnded) {
		a.Logger.Warn("this planner begins no more moves", "error", err)
	}
	lost(nil)
	<-beats
	if ctx.Err() != nil {
		if err := t.end(ctx); err != nil {
			a.Logger.Warn("the next planner waits until this one is lost", "error", err)
		}
	}
}

// plan is one plan. Its beginning is written first, since the next planner waits from there.
func (a *Automatic) plan(ctx context.Context, t *term, now time.Time) error {
	if err := t.beat(ctx, now); err != nil {
		return err
	}
	result, err := Rebalance(ctx, t, a.Plan)
	if result.Moves > 0 {
		a.Logger.Info("slots have moved", "slots", result.Moves, "load", result.Bytes)
	}
	return err
}

// pause waits, and reports whether ctx is not done.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// quiet writes an error once, until it is another one.
type quiet struct{ last string }

func (q *quiet) warn(ctx context.Context, log *slog.Logger, text string, err error) {
	switch {
	case ctx.Err() != nil:
	case err == nil:
		q.last = ""
	case err.Error() != q.last:
		q.last = err.Error()
		log.Warn(text, "error", err)
	}
}
