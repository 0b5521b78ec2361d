package limits

import (
	"context"
	"time"
)

// Stepper runs steps of long work in scheduling slots: it calls step in a slot
// of the source. The error is the reason why ctx ended before that.
type Stepper interface {
	RunStep(ctx context.Context, source string, step func()) error
}

// Pacer lets a search share scheduling slots with others that take long, where only a
// Stepper gives slots. The search calls Pause after each step, in its own goroutine:
//
//	search   first step | Pause: waits | step | Pause: waits | step ... End
//	slot                       [--------------)       [-------------------)
//
// The first step takes no slot: most searches end within it. A goroutine of its
// own holds the slot, and waits for the end of the step. Code with access to
// the Slots needs no such goroutine (Job).
type Pacer struct {
	Of     Stepper
	Ctx    context.Context
	Source string

	over  chan struct{} // ends the step, if it has a slot
	since time.Time     // when the step began; zero: at the first Tick
}

// Tick is for searches with steps of unknown length: it is called after each
// small piece of work, and pauses after a tenth of a Quantum.
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

// Pause ends a step, and returns when the next may begin, or the reason why none may.
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

// End is called when the search ends, in any case.
func (p *Pacer) End() {
	if p.over != nil {
		close(p.over)
		p.over = nil
	}
}
