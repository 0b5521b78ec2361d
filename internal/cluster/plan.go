package cluster

import (
	"context"
	"fmt"
	"math"

	"github.com/catfish-index/catfish/internal/placement"
)

// Options of Rebalance, Drain and Move.
type Options struct {
	// Load asks the groups of a map how many bytes each slot has; nil: all slots count alike.
	Load Loads
	// Bytes that Rebalance moves at most; 0: any number. It needs Load.
	Bytes uint64
	// Slots that Rebalance moves at most; 0: any number.
	Slots int
	// Moves under way at most; 0: DefaultMoves.
	Moves int
	// Tolerance of Rebalance (placement.Budget).
	Tolerance float64
	// Progress, if not nil, is called at the beginning, after each change of the map, and every
	// LookEvery while there is none.
	Progress func(Progress)
}

// load asks for that of a map.
func (o *Options) load(ctx context.Context, m *placement.Map) (*Load, error) {
	if o.Load == nil {
		return new(Load), nil
	}
	return o.Load(ctx, m)
}

// planAtOnce is after how many moves a plan looks at the tolerance again.
const planAtOnce = 128

// finer divides the tolerance for what follows the first moves of a plan: a group that gets
// something gets its share, and not only the least that is tolerated. It is not 0, so that
// two planners with loads that differ a little do not move slots to and fro.
const finer = 10

// plan returns all moves of a balance, which may be more than a map has room for at once. Moves
// under way count as done.
func plan(m *placement.Map, load *Load, b placement.Budget) (all []placement.Move, err error) {
	after := *m
	after.Moves = nil
	for _, v := range m.Moves {
		if v.Collection == "" {
			after.Slots[v.Slot] = v.To
		}
	}
	b.Moves = planAtOnce
	for begun := false; ; begun = true {
		moves, err := after.Balance(load, b)
		if err != nil || len(moves) == 0 {
			return all, err
		}
		for _, v := range moves {
			after.Slots[v.Slot] = v.To
		}
		all = append(all, moves...)
		if !begun {
			b.Tolerance /= finer
		}
		if b.Bytes > 0 {
			bytes := bytesOf(moves, load)
			if bytes >= b.Bytes {
				return all, nil
			}
			b.Bytes -= bytes
		}
	}
}

// bytesOf moves, as a budget counts them: each slot counts a byte more.
func bytesOf(moves []placement.Move, load *Load) (n uint64) {
	for _, v := range moves {
		n += load[v.Slot] + 1
	}
	return n
}

// Plan returns the moves that Rebalance would begin, and what each slot has.
func Plan(ctx context.Context, r Registry, o Options) (*placement.Map, []placement.Move, *Load, error) {
	m, err := Read(ctx, r)
	if err == nil && m == nil {
		err = errNoMap
	}
	if err != nil {
		return nil, nil, nil, err
	}
	load, err := o.load(ctx, m)
	if err != nil {
		return nil, nil, nil, err
	}
	moves, err := plan(m, load, placement.Budget{Bytes: o.Bytes, Tolerance: o.Tolerance})
	if o.Slots > 0 {
		moves = moves[:min(len(moves), o.Slots)]
	}
	return m, moves, load, err
}

// Rebalance moves slots until each group has its share by weight, within the tolerance, and
// nothing moves any more. It can be ended at any time: what has begun continues, and the next
// call continues. Several may run at the same time.
func Rebalance(ctx context.Context, r Registry, o Options) (Result, error) {
	c := &carrier{r: r, o: &o}
	c.plan = func(m *placement.Map) ([]placement.Move, error) {
		b := placement.Budget{Bytes: o.Bytes, Tolerance: o.Tolerance}
		if c.done.Moves > 0 {
			b.Tolerance /= finer
		}
		if o.Bytes > 0 {
			if c.begun >= o.Bytes {
				return nil, nil
			}
			b.Bytes -= c.begun
		}
		moves, err := plan(m, c.load, b)
		if o.Slots > 0 {
			moves = moves[:min(len(moves), max(0, o.Slots-c.began))]
		}
		return moves, err
	}
	for {
		before := c.done.Moves
		if err := c.weighed(ctx); err != nil || c.done.Moves == before {
			return c.done, err
		}
		// What slots have has changed meanwhile: look again.
	}
}

// Drain gives a group weight 0, and moves its slots to the others, until it has nothing.
func Drain(ctx context.Context, r Registry, name string, o Options) (Result, error) {
	if _, err := Weigh(ctx, r, name, 0); err != nil {
		return Result{}, err
	}
	c := &carrier{r: r, o: &o}
	c.plan = func(m *placement.Map) ([]placement.Move, error) {
		switch g, err := m.Find(name); {
		case err != nil:
			return nil, err
		case m.Groups[g].Weight > 0:
			return nil, fmt.Errorf("%w: group %q has weight %d again", ErrRefused, name, m.Groups[g].Weight)
		}
		// The others may have whatever they have.
		return plan(m, c.load, placement.Budget{Tolerance: math.MaxFloat64})
	}
	err := c.weighed(ctx)
	return c.done, err
}

// weighed is run with the load of now.
func (c *carrier) weighed(ctx context.Context) error {
	m, _, err := c.read(ctx)
	if err != nil {
		return err
	}
	if c.load, err = c.o.load(ctx, m); err != nil {
		return err
	}
	return c.run(ctx)
}

// Move moves slots to a group. Those that it has stay. from, if not empty, has all others.
func Move(ctx context.Context, r Registry, slots []uint16, from, to string, o Options) (Result, error) {
	c := &carrier{r: r, o: &o, load: new(Load)}
	c.plan = func(m *placement.Map) (moves []placement.Move, err error) {
		dest, err := m.Find(to)
		if err != nil {
			return nil, err
		}
		for _, s := range slots {
			switch has := m.Slots[s]; {
			case has == dest:
			case from != "" && m.Groups[has].Name != from:
				return nil, fmt.Errorf("%w: slot %d is of group %q, and not of %q", ErrRefused, s, m.Groups[has].Name, from)
			default:
				moves = append(moves, placement.Move{Part: placement.Part{Slot: s}, From: has, To: dest})
			}
		}
		return moves, nil
	}
	err := c.run(ctx)
	return c.done, err
}
