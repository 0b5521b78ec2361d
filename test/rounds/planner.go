//go:build linux

package rounds

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/catfish-index/catfish/internal/placement"
)

// plannedAtOnce is how many slots a planner moves at once: fewer than the group has.
const plannedAtOnce = drainedSlots / 2

// plans lets 'catfish cluster drain' empty a group. It is killed when moves are at the plan's step,
// or later, and runs again until the group has nothing.
func (r *round) plans(ctx context.Context) error {
	o, p := r.operator, r.plan.Moving
	first, kill := context.WithCancel(ctx)
	defer kill()
	ended := make(chan error, 1)
	go func() { ended <- r.drain(first) }()
	reached := func(m *placement.Map) bool {
		for _, v := range m.Moves {
			if v.Step >= p.Step {
				return true
			}
		}
		return len(slotsOf(m, p.From)) == 0
	}
	if err := o.await(ctx, reached); err != nil {
		return err
	}
	if !r.plan.Before { // The fault has begun by then.
		select {
		case <-time.After(r.plan.Hold / 4):
		case <-ctx.Done():
		}
	}
	kill()
	r.log("the planner is killed: %v", <-ended)
	for len(slotsOf(o.now(), p.From)) > 0 {
		if err := r.drain(ctx); err != nil { // A coordinator or a primary may be away.
			r.log("the planner: %v", err)
			if pause(ctx); ctx.Err() != nil {
				return errors.Join(err, context.Cause(ctx))
			}
		}
	}
	return nil
}

// drain runs the planner until it ends, or is killed with ctx.
func (r *round) drain(ctx context.Context) error {
	_, err := r.c.catfish(ctx, "drain", groupName(r.plan.Moving.From), "--by", "count", "--moves", strconv.Itoa(plannedAtOnce))
	return err
}
