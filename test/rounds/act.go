//go:build linux

package rounds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/placement"
)

const (
	// reachTime bounds the wait for the step at which the fault begins.
	reachTime = 10 * time.Second
	// settleTime is how long moves may take to end after the groups are whole.
	settleTime = time.Minute
)

// sufferMoving is suffer in a round of several groups: the fault begins when moves are at a step.
func (r *round) sufferMoving(ctx context.Context) error {
	o, p := r.operator, r.plan.Moving
	if p.Action.Name == addGroup {
		if err := r.addGroup(ctx); err != nil {
			return err
		}
	}
	all, err := r.c.status(ctx)
	if err != nil {
		return err
	}
	side := p.To
	if p.Source {
		side = p.From
	}
	r.victim = r.choose(all.of(groupName(side)))
	acting, stop := context.WithTimeout(ctx, reachTime+settleTime)
	defer stop()
	acted := make(chan error, 1)
	go func() { acted <- r.act(acting) }()
	reaching, cancel := context.WithTimeout(ctx, reachTime)
	begun := false
	err = o.await(reaching, func(m *placement.Map) bool {
		begun = begun || len(m.Moves) > 0
		for _, v := range m.Moves {
			if v.Step >= p.Step {
				return true
			}
		}
		return begun && len(m.Moves) == 0
	})
	cancel()
	if err != nil {
		return fmt.Errorf("%w: %w", errNotWhole, err)
	}
	r.log("the fault begins: %s, a member of %s", r.victim.Node, r.victim.group)
	r.result.At = latestStep(o.now())
	if err := r.plan.Fault.begin(ctx, r); err != nil {
		return fmt.Errorf("rounds: %s: %w", r.plan.Fault.Name, err)
	}
	select {
	case <-time.After(r.plan.Hold):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := r.recover(ctx); err != nil {
		return err
	}
	if err := <-acted; err != nil {
		return fmt.Errorf("%w: %w", errNotWhole, err)
	}
	return r.settle(ctx)
}

// latestStep is that of the moves under way.
func latestStep(m *placement.Map) string {
	if len(m.Moves) == 0 {
		return ""
	}
	return slices.MaxFunc(m.Moves, func(a, b placement.Move) int { return cmp.Compare(a.Step, b.Step) }).Step.String()
}

// settle waits until no slot moves.
func (r *round) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	if err := r.operator.await(ctx, func(m *placement.Map) bool { return len(m.Moves) == 0 }); err != nil {
		return fmt.Errorf("%w: moves do not end in %v: %w", errNotWhole, settleTime, err)
	}
	return nil
}

// addGroup adds a group to the map, and starts it.
func (r *round) addGroup(ctx context.Context) error {
	name := groupName(r.o.Groups)
	if err := r.operator.change(ctx, func(m *placement.Map) (*placement.Map, error) {
		if _, err := m.Find(name); err == nil {
			return nil, errNothing
		}
		return m.AddGroup(name, 1)
	}); err != nil {
		return err
	}
	for _, m := range r.c.members[r.o.Groups*membersOfGroup:] {
		if err := r.c.start(m); err != nil {
			return err
		}
	}
	_, err := r.c.whole(ctx, nil, r.note)
	return err
}

// act is what the operator does. It returns when all is written that is to be; moves
// may be under way.
func (r *round) act(ctx context.Context) error {
	o, p := r.operator, r.plan.Moving
	slots := r.slots(o.now(), p.From, p.Slots)
	switch p.Action.Name {
	case planDrain:
		return r.plans(ctx)
	case moveBoth:
		return errors.Join(o.begin(ctx, p.From, p.To, slots), o.begin(ctx, p.To, p.From, r.slots(o.now(), p.To, p.Slots)))
	case moveBack:
		err := o.begin(ctx, p.From, p.To, slots)
		if err == nil {
			err = o.await(ctx, func(m *placement.Map) bool { return len(m.Moves) == 0 })
		}
		if err != nil {
			return err
		}
		return o.begin(ctx, p.To, p.From, slots)
	case undoMoves:
		if err := o.begin(ctx, p.From, p.To, slots); err != nil {
			return err
		}
		err := o.await(ctx, func(m *placement.Map) bool {
			for _, v := range m.Moves {
				if v.Step < p.Step {
					return false
				}
			}
			return true
		})
		if err != nil {
			return err
		}
		if r.plan.Before {
			return o.undo(ctx)
		}
		select { // The fault has begun by then.
		case <-time.After(r.plan.Hold / 4):
		case <-ctx.Done():
		}
		return o.undo(ctx)
	case drainGroup:
		if err := o.change(ctx, func(m *placement.Map) (*placement.Map, error) {
			if m.Groups[p.From].Weight == 0 {
				return nil, errNothing
			}
			return m.Weigh(placement.Index(p.From), 0)
		}); err != nil {
			return err
		}
	}
	for {
		if err := o.begin(ctx, p.From, p.To, slots); err != nil || p.Action.Name != drainGroup {
			return err
		}
		// A move that a new primary undoes begins again, until nothing is left.
		if err := o.await(ctx, func(m *placement.Map) bool { return len(m.Moves) == 0 }); err != nil {
			return err
		}
		if slots = r.slots(o.now(), p.From, p.Slots); len(slots) == 0 {
			return nil
		}
	}
}

func slotsOf(m *placement.Map, group int) (slots []uint16) {
	for s, g := range m.Slots {
		if int(g) == group {
			slots = append(slots, uint16(s))
		}
	}
	return slots
}

// slots draws n slots of a group, first those of keys that clients write all the time.
func (r *round) slots(m *placement.Map, group, n int) []uint16 {
	draw := rand.New(rand.NewPCG(r.plan.Pick, uint64(group)))
	all := slotsOf(m, group)
	draw.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	busy := map[uint16]bool{}
	for key := range keysOfRound {
		busy[placement.SlotOf([]byte(keyID(key)))] = draw.IntN(4) > 0
	}
	front := 0
	for i, s := range all {
		if busy[s] {
			all[front], all[i] = all[i], all[front]
			front++
		}
	}
	return all[:min(n, len(all))]
}
