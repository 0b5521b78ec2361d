//go:build linux

package rounds

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// changeTime bounds a change of the group, which may have to wait for the end of the fault.
const changeTime = 30 * time.Second

// change is what an operator does beside the fault.
func (r *round) change(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, changeTime)
	defer cancel()
	switch r.plan.During {
	case addMember:
		return r.c.start(r.c.members[3])
	case removeMember:
		return r.remove(ctx)
	case switchMember:
		g, err := r.c.status(ctx)
		if err == nil {
			all := r.secondaries(g.of(r.victim.group), r.victim)
			err = r.c.switchTo(ctx, all[r.pick(len(all), 5)])
		}
		if err != nil { // It may be refused: nothing has changed then.
			r.note("the switch was refused: %v", err)
		}
	}
	return nil
}

// remove ends a member that is neither the victim nor the primary, and takes it out.
func (r *round) remove(ctx context.Context) error {
	for {
		g, err := r.c.status(ctx)
		if err == nil {
			if err = r.takeOut(ctx, r.secondaries(g.of(r.victim.group), r.victim)[0]); err == nil {
				return nil
			}
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: a member is not removed: %w", errNotWhole, errors.Join(err, context.Cause(ctx)))
		}
		pause(ctx)
	}
}

// refusedTime is how long an operator tries to take out a member that has ended.
const refusedTime = 3 * time.Second

// takeOut ends a member and removes it. If that is refused, it may be the primary by now, and
// the only one in sync: it starts again.
func (r *round) takeOut(ctx context.Context, gone *member) error {
	gone.removed.Store(true)
	_ = gone.p.Load().Signal(syscall.SIGTERM)
	select {
	case <-gone.p.Load().Ended():
	case <-time.After(5 * time.Second):
		if err := gone.kill(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, refusedTime)
	defer cancel()
	for {
		_, err := r.c.operate(ctx, "remove", gone.Node)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			r.note("%s is not removed, and starts again: %v", gone.Node, err)
			gone.removed.Store(false)
			return err
		}
		pause(ctx)
	}
}

func pause(ctx context.Context) {
	select {
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
	}
}
