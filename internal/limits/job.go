package limits

import "context"

// Job is a long job of one goroutine that runs in scheduling slots:
//
//	Pause   work   Pause   work   Pause: the slot ends      Pause ... End
//	[---------------------------)                    [-------------)
//	a slot                                            the next slot
//
// It has no slot before its first Pause.
type Job struct {
	of   *Slots
	ctx  context.Context
	from string
	turn *Slot // nil: none
}

// Job begins a job of a source, which ends with ctx.
func (t *Slots) Job(ctx context.Context, from string) *Job { return &Job{of: t, ctx: ctx, from: from} }

// Pause is called after each tenth of a Quantum or so, and returns when the job
// may continue: at once within its slot, else when it has the next. It returns
// the cause of ctx's end if that comes first.
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

// End gives up the slot, if there is one: before the job waits for anything
// else, and at its end.
func (j *Job) End() {
	if j.turn == nil {
		return
	}
	if j.of.alone && j.turn.runs() {
		// While jobs hand over to each other, no processor looks at sockets.
		j.of.poller.Poll()
	}
	j.turn.Leave()
	j.turn = nil
}

// runs reports whether the job has its slot.
func (n *Slot) runs() bool {
	n.of.mu.Lock()
	defer n.of.mu.Unlock()
	return n.state == running
}
