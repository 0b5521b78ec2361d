package turns

import (
	"context"
	"time"
)

// Stepper lets steps of long work take turns: step is called when it is this source's
// turn. The error is the reason why ctx ended before that.
type Stepper interface {
	RunStep(ctx context.Context, source string, step func()) error
}

// Pacer lets a search take turns with others that take long, where turns are only to
// be had by a Stepper. The search calls Pause after each step, in its own goroutine:
//
//	search   first step | Pause: waits | step | Pause: waits | step ... End
//	turn                       [--------------)       [-------------------)
//
// The first step takes no turn: most searches are over by then. A turn is held by a
// goroutine of its own, which waits for the end of the step. Who has the Turns
// themselves needs none (Job).
type Pacer struct {
	Of     Stepper
	Ctx    context.Context
	Source string

	over  chan struct{} // ends the step, if it has a turn
	since time.Time     // when the step began; zero: at the first Tick
}

// Tick is for who does not know how long a step takes: it is called after each small
// piece of work, and pauses after a tenth of a Quantum.
func (p *Pacer) Tick() error {
	now := time.Now()
	if p.since.IsZero() {
		p.since = now
	}
	if now.Sub(p.since) < Quantum/10 {
		return nil
	}
	return p.Pause()
}

// Pause ends a step, and returns when the next may begin, or why none may.
func (p *Pacer) Pause() error {
	p.End()
	over, begun := make(chan struct{}), make(chan error, 1)
	go func() {
		err := p.Of.RunStep(p.Ctx, p.Source, func() {
			begun <- nil
			<-over
		})
		if err != nil {
			begun <- err
		}
	}()
	if err := <-begun; err != nil {
		return err
	}
	p.over, p.since = over, time.Now()
	return nil
}

// End is called when the search is over, in any case.
func (p *Pacer) End() {
	if p.over != nil {
		close(p.over)
		p.over = nil
	}
}
