package cluster

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
)

// What is left of a plan is computed from the map, and begun while no slot moves:
//
//	slots move           wait for another map
//	none, and some left  begin the next ones, by compare-and-set on this map
//	none, and none left  done
//
// So two planners begin nothing twice: the slower one finds that slots move, and waits. One
// that ends leaves moves, which groups carry out, and the next planner waits for them. Moves
// begin together, since a copy goes through all ids of a store, whatever the number of slots.

const (
	// DefaultMoves is how many moves are under way at once. Fewer cost more scans, and waits for
	// leases; more need more of the source's log, and take longer until something has moved.
	DefaultMoves = 128
	// LookEvery is how often the map is read while it stands still.
	LookEvery = 10 * time.Second
	// callTime bounds a call of the coordinator.
	callTime = 10 * time.Second
)

// maxUndone is how often in a row all moves that were begun together are undone, before the
// carrier gives up. A group undoes moves when a member ends, or a stream breaks, while writes wait.
const maxUndone = 5

// ErrUndone: moves were undone again and again, by groups or an operator.
var ErrUndone = errors.New("cluster: moves were undone")

// Result is what has moved since the beginning of a call, by moves of other calls, too.
type Result struct {
	Moves int    `json:"moves"`
	Bytes uint64 `json:"bytes"` // 0: not known
}

// Progress of moves.
type Progress struct {
	Map       *placement.Map
	Done      Result
	Left      int    // moves
	LeftBytes uint64 // 0: not known
	// Still is since when the map has not changed.
	Still time.Duration
}

// carrier begins the moves of a plan, and waits for them.
type carrier struct {
	r    Registry
	o    *Options
	load *Loaded
	// plan is what is left, without moves under way, and the map in which ranges are divided for it.
	plan func(*placement.Map) (*placement.Map, []placement.Move, error)

	done    Result
	begun   uint64                    // bytes, as budgets count them
	began   int                       // parts
	under   map[placement.Part]string // what moves, and where to
	planned bool
	left    []placement.Move // after these
	divided *placement.Map   // in which they begin
	expect  *placement.Map   // with what is under way as done: if it comes so, the plan stays
	mine    bool             // this carrier has begun what is under way
	arrived bool             // some of it has its new owner
	undone  int              // how often in a row none has
}

// run returns when nothing is left, and nothing moves.
func (c *carrier) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wakes := make(chan struct{}, 1)
	go c.r.Watch(ctx, Key, func() {
		select {
		case wakes <- struct{}{}:
		default:
		}
	})
	look := time.NewTicker(LookEvery)
	defer look.Stop()
	last, since := int64(0), time.Now()
	for {
		m, version, err := c.read(ctx)
		if err != nil {
			return err
		}
		if version != last {
			last, since = version, time.Now()
		}
		if err := c.look(m); err != nil {
			return err
		}
		c.tell(m, time.Since(since))
		if len(c.under)+len(c.left) == 0 {
			return nil
		}
		if n := c.next(m); len(n) > 0 {
			if err := c.begin(ctx, m, version, n); err != nil {
				return err
			}
			continue
		}
		select {
		case <-wakes:
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("cluster: %d parts move, and go on: %w", len(c.under), context.Cause(ctx))
		}
	}
}

func (c *carrier) read(ctx context.Context) (*placement.Map, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	m, version, err := read(ctx, c.r)
	if err == nil && m == nil {
		err = errNoMap
	}
	return m, version, err
}

// look takes from a map what is under way, what was done, and what is left.
func (c *carrier) look(m *placement.Map) error {
	under := map[placement.Part]string{}
	for _, v := range m.Moves {
		under[v.Part] = m.Groups[v.To].Name
	}
	for p, to := range c.under {
		if has, err := m.Owner(p); err == nil && under[p] == "" && m.Groups[has].Name == to {
			c.arrived, c.undone = true, 0
			c.done.Moves++
			c.done.Bytes += c.load.bytes(p)
		}
	}
	before := len(c.under)
	c.under = under
	if len(under) == 0 && before > 0 && c.mine && !c.arrived {
		if c.undone++; c.undone == maxUndone {
			return fmt.Errorf("%w %d times: %d parts stay where they were; the logs of the servers, or another operator, know why", ErrUndone, c.undone, before)
		}
	}
	if c.planned && (len(under) > 0 || len(c.left) > 0 && c.expected(m)) {
		return nil
	}
	c.planned = true
	divided, left, err := c.plan(m)
	c.divided, c.left = divided, slices.DeleteFunc(left, func(v placement.Move) bool { return under[v.Part] != "" })
	return err
}

// expected reports whether nothing else has changed than what this carrier has begun.
func (c *carrier) expected(m *placement.Map) bool {
	return c.expect != nil && m.Slots == c.expect.Slots && reflect.DeepEqual(m.Boxes, c.expect.Boxes) && slices.EqualFunc(m.Groups, c.expect.Groups, func(a, b placement.Group) bool {
		return a.Name == b.Name && a.Weight == b.Weight
	})
}

// next are the moves to begin now.
func (c *carrier) next(m *placement.Map) []placement.Move {
	if len(c.under) > 0 {
		return nil
	}
	n := c.o.Moves
	if n <= 0 {
		n = DefaultMoves
	}
	return c.left[:min(n, len(c.left), placement.MaxMoves-len(m.Moves))]
}

// begin changes a map, unless it has changed.
func (c *carrier) begin(ctx context.Context, m *placement.Map, version int64, moves []placement.Move) error {
	from := m
	if c.divided != nil {
		divided := *m
		divided.Boxes = c.divided.Boxes // of this map's ranges, or these
		from = &divided
	}
	n, err := from.Begin(moves...)
	if err != nil {
		return err
	}
	b, err := n.Encode()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	switch _, err := c.r.SwapIf(ctx, Key, version, b); {
	case errors.Is(err, coord.ErrConflict), errors.Is(err, coord.ErrUnknown): // The map says what moves.
		c.mine = false
		return nil
	case err != nil:
		return err
	}
	c.mine, c.arrived = true, false
	c.under, c.left = map[placement.Part]string{}, c.left[len(moves):]
	for _, v := range moves {
		c.under[v.Part] = m.Groups[v.To].Name
	}
	c.expect = n.After()
	c.divided = c.expect
	c.begun += bytesOf(moves, c.load)
	c.began += len(moves)
	return nil
}

func (c *carrier) tell(m *placement.Map, still time.Duration) {
	if c.o.Progress == nil {
		return
	}
	p := Progress{Map: m, Done: c.done, Left: len(c.under) + len(c.left), Still: still}
	for part := range c.under {
		p.LeftBytes += c.load.bytes(part)
	}
	for _, v := range c.left {
		p.LeftBytes += c.load.bytes(v.Part)
	}
	c.o.Progress(p)
}
