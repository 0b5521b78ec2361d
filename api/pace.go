package api

import "context"

// pacer lets a search of features take turns with others that take long. The
// search calls pace after each step, in its own goroutine:
//
//	search   first step | pace: waits | step | pace: waits | step ... end
//	turn                      [-------------)      [------------------)
//
// The first step takes no turn: most searches are over by then. A turn is held
// by a goroutine of its own, which waits for the end of the step.
type pacer struct {
	turns  stepper
	ctx    context.Context
	source string
	over   chan struct{} // ends the step, if it has a turn
}

func (s *features) pacer(ctx context.Context) *pacer {
	return &pacer{turns: s.turns, ctx: ctx}
}

// pace ends a step, and returns when the next may begin, or why none may.
func (p *pacer) pace() error {
	p.end()
	if p.source == "" {
		p.source = sourceOf(p.ctx)
	}
	over, begun := make(chan struct{}), make(chan error, 1)
	go func() {
		err := p.turns.RunStep(p.ctx, p.source, func() {
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
	p.over = over
	return nil
}

// end is called when the search is over.
func (p *pacer) end() {
	if p.over != nil {
		close(p.over)
		p.over = nil
	}
}
