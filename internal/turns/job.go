package turns

import "context"

// Job is a long job of one goroutine that is carried out in turns:
//
//	Pause   work   Pause   work   Pause: the turn is over   Pause ... End
//	[---------------------------)                    [-------------)
//	a turn                                            the next turn
//
// It has no turn before its first Pause.
type Job struct {
	of   *Turns
	ctx  context.Context
	from string
	turn *Turn // nil: none
}

// Job begins a job of a source, which ends with ctx.
func (t *Turns) Job(ctx context.Context, from string) *Job { return &Job{of: t, ctx: ctx, from: from} }

// Pause is called after each tenth of a Quantum or so, and returns when the job may
// go on: at once until its turn is over, else when it has the next. It returns the
// cause of ctx's end if that comes first.
func (j *Job) Pause() error {
	if j.turn != nil && !j.turn.Over() {
		return context.Cause(j.ctx)
	}
	j.End()
	if err := context.Cause(j.ctx); err != nil {
		return err
	}
	granted := make(chan struct{})
	turn, now := j.of.Join(j.from, func() { close(granted) })
	j.turn = turn
	if !now {
		select {
		case <-granted:
		case <-j.ctx.Done():
			return context.Cause(j.ctx)
		}
	}
	turn.Over() // It begins now.
	return nil
}

// End gives the turn up, if there is one: before the job waits for something else,
// and at its end.
func (j *Job) End() {
	if j.turn == nil {
		return
	}
	if j.of.alone && j.turn.runs() {
		// Jobs that hand over to each other leave none to look at sockets.
		j.of.poller.Poll()
	}
	j.turn.Leave()
	j.turn = nil
}

// runs reports whether it is this turn.
func (n *Turn) runs() bool {
	n.of.mu.Lock()
	defer n.of.mu.Unlock()
	return n.state == running
}
