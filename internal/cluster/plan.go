package cluster

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/catfish-index/catfish/internal/placement"
)

// Options of Rebalance, Drain and Move.
type Options struct {
	// Load asks the groups of a map how many bytes each slot has; nil: all slots count alike.
	Load Loads
	// Boxes asks them where boxes are; nil: ranges move from groups of weight 0 alone.
	Boxes BoxLoads
	// Bytes that Rebalance moves at most; 0: any number. It needs Load.
	Bytes uint64
	// Slots, and ranges of boxes, that Rebalance moves at most; 0: any number.
	Slots int
	// Moves under way at most; 0: DefaultMoves.
	Moves int
	// Tolerance of Rebalance (placement.Budget).
	Tolerance float64
	// Progress, if not nil, is called at the beginning, after each change of the map, and every
	// LookEvery while there is none.
	Progress func(Progress)
}

// Loaded is what each slot has, and where boxes are, by collection.
type Loaded struct {
	Slots Load
	Boxes map[string]*BoxLoad
	is    *placement.Map // of which that is
}

// load asks for that of a map.
func (o *Options) load(ctx context.Context, m *placement.Map) (*Loaded, error) {
	l := &Loaded{Boxes: map[string]*BoxLoad{}, is: m}
	if o.Load != nil {
		slots, err := o.Load(ctx, m)
		if err != nil {
			return nil, err
		}
		l.Slots = *slots
	}
	for i := range m.Boxes {
		name := m.Boxes[i].Collection
		if o.Boxes == nil {
			continue
		}
		of, err := o.Boxes(ctx, m, name)
		if err != nil {
			return nil, err
		}
		l.Boxes[name] = of
	}
	return l, nil
}

// evenBoxes is the load of a collection without boxes: all positions count alike.
func evenBoxes() *BoxLoad {
	const parts = 4096
	l := &BoxLoad{Each: 1}
	for i := range uint64(parts) {
		l.Sample = append(l.Sample, i*(math.MaxUint64/parts))
	}
	return l
}

// bytes are those of a part.
func (l *Loaded) bytes(p placement.Part) (n uint64) {
	if p.Collection == "" {
		return l.Slots[p.Slot]
	}
	of := l.Boxes[p.Collection]
	if of == nil || l.is == nil {
		return 0
	}
	_, first, last, err := l.is.Span(p)
	if err != nil {
		return 0
	}
	for _, at := range of.Sample {
		if first <= at && at <= last {
			n += of.Each
		}
	}
	return n
}

// planAtOnce is after how many moves a plan looks at the tolerance again.
const planAtOnce = 128

// finer divides the tolerance for what follows the first moves of a plan: a group that gets
// something gets its share, and not only the least that is tolerated. It is not 0, so that
// two planners with loads that differ a little do not move slots to and fro.
const finer = 10

// plan returns all moves of a balance, which may be more than a map has room for at once, and the map in
// which ranges are divided for them. Moves under way count as done.
func plan(m *placement.Map, load *Loaded, b placement.Budget) (divided *placement.Map, all []placement.Move, err error) {
	all, err = planSlots(m.After(), &load.Slots, &b)
	divided = m
	for i := range m.Boxes {
		if err != nil || b.Bytes == spent {
			break
		}
		var moves []placement.Move
		divided, moves, err = planBoxes(divided, m.Boxes[i].Collection, load, &b)
		all = append(all, moves...)
	}
	load.is = divided
	return divided, all, err
}

// spent is the budget of which nothing is left: 0 is none.
const spent = math.MaxUint64

// planSlots is plan of slots. It takes their bytes from the budget.
func planSlots(after *placement.Map, load *Load, budget *placement.Budget) (all []placement.Move, err error) {
	b := *budget
	b.Moves = planAtOnce
	for begun := false; ; begun = true {
		moves, err := after.Balance(load, b)
		if err != nil || len(moves) == 0 {
			budget.Bytes = b.Bytes
			return all, err
		}
		bytes := uint64(0)
		for _, v := range moves {
			after.Slots[v.Slot] = v.To
			bytes += load[v.Slot] + 1
		}
		all = append(all, moves...)
		if !begun {
			b.Tolerance /= finer
		}
		if b.Bytes > 0 {
			if bytes >= b.Bytes {
				budget.Bytes = spent
				return all, nil
			}
			b.Bytes -= bytes
		}
	}
}

// planBoxes is plan of a collection of boxes.
func planBoxes(m *placement.Map, collection string, load *Loaded, b *placement.Budget) (*placement.Map, []placement.Move, error) {
	of, tolerance := load.Boxes[collection], b.Tolerance
	if of == nil || len(of.Sample) == 0 {
		// The ranges may have been chosen for boxes that come. Those of a group that is drained go, too.
		of, tolerance = evenBoxes(), math.MaxFloat64
	}
	still := *m
	still.Moves = nil // of slots; Begin looks for room
	for _, v := range m.Moves {
		if v.Collection == collection {
			still.Moves = append(still.Moves, v)
		}
	}
	divided, moves, err := still.BalanceBoxes(collection, of.Sample, of.Each, placement.Budget{Bytes: b.Bytes, Tolerance: tolerance})
	if err != nil {
		return m, nil, err
	}
	after := *divided
	after.Version, after.Moves = m.Version, m.Moves
	if b.Bytes > 0 {
		bytes := uint64(0)
		for _, v := range moves {
			bytes += (&Loaded{Boxes: load.Boxes, is: &after}).bytes(v.Part)
		}
		if b.Bytes -= min(bytes, b.Bytes); b.Bytes == 0 {
			b.Bytes = spent
		}
	}
	return &after, moves, nil
}

// bytesOf moves, as a budget counts them: each slot counts a byte more.
func bytesOf(moves []placement.Move, load *Loaded) (n uint64) {
	for _, v := range moves {
		n += load.bytes(v.Part)
		if v.Collection == "" {
			n++
		}
	}
	return n
}

// Plan returns the moves that Rebalance would begin, the load, and the map in which ranges
// are divided for it.
func Plan(ctx context.Context, r Registry, o Options) (*placement.Map, []placement.Move, *Loaded, error) {
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
	divided, moves, err := plan(m, load, placement.Budget{Bytes: o.Bytes, Tolerance: o.Tolerance})
	if o.Slots > 0 {
		divided, moves = within(o.Slots, m, divided, moves)
	}
	return divided, moves, load, err
}

// within cuts moves to a number of them. Without moves of ranges none is divided.
func within(most int, m, divided *placement.Map, moves []placement.Move) (*placement.Map, []placement.Move) {
	moves = moves[:min(len(moves), most)]
	if !slices.ContainsFunc(moves, func(v placement.Move) bool { return v.Collection != "" }) {
		divided = m
	}
	return divided, moves
}

// Bytes of a part of the map that Plan returned.
func (l *Loaded) Bytes(p placement.Part) uint64 { return l.bytes(p) }

// Rebalance moves slots and ranges of boxes until each group has its share by weight, within the tolerance, and
// nothing moves any more. It can be ended at any time: what has begun continues, and the next
// call continues. Several may run at the same time.
func Rebalance(ctx context.Context, r Registry, o Options) (Result, error) {
	c := &carrier{r: r, o: &o}
	c.plan = func(m *placement.Map) (*placement.Map, []placement.Move, error) {
		b := placement.Budget{Bytes: o.Bytes, Tolerance: o.Tolerance}
		if c.done.Moves > 0 {
			b.Tolerance /= finer
		}
		if o.Bytes > 0 {
			if c.begun >= o.Bytes {
				return m, nil, nil
			}
			b.Bytes -= c.begun
		}
		divided, moves, err := plan(m, c.load, b)
		if o.Slots > 0 {
			divided, moves = within(max(0, o.Slots-c.began), m, divided, moves)
		}
		return divided, moves, err
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
	c.plan = func(m *placement.Map) (*placement.Map, []placement.Move, error) {
		switch g, err := m.Find(name); {
		case err != nil:
			return nil, nil, err
		case m.Groups[g].Weight > 0:
			return nil, nil, fmt.Errorf("%w: group %q has weight %d again", ErrRefused, name, m.Groups[g].Weight)
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

// Move moves slots, or ranges of boxes, to a group. Those that it has stay. from, if not empty, has all others.
func Move(ctx context.Context, r Registry, parts []placement.Part, from, to string, o Options) (Result, error) {
	c := &carrier{r: r, o: &o, load: new(Loaded)}
	c.plan = func(m *placement.Map) (_ *placement.Map, moves []placement.Move, err error) {
		dest, err := m.Find(to)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range parts {
			has, err := m.Owner(p)
			switch {
			case err != nil:
				return nil, nil, err
			case has == dest:
			case from != "" && m.Groups[has].Name != from:
				return nil, nil, fmt.Errorf("%w: %v is of group %q, and not of %q", ErrRefused, p, m.Groups[has].Name, from)
			default:
				moves = append(moves, placement.Move{Part: p, From: has, To: dest})
			}
		}
		return m, moves, nil
	}
	err := c.run(ctx)
	return c.done, err
}
