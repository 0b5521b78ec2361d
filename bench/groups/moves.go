package groups

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/members"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/placement"
)

const (
	// movedSlot is the one that moves.
	movedSlot = 7
	// ofSlot is how many ids of it are written.
	ofSlot = 1000
	// beforeMove is the time that others' rate is compared with.
	beforeMove = time.Second
)

// moveGroups are the groups between which it moves.
var moveGroups = []string{"a", "b"}

// moves moves a slot to and fro between two groups while clients write.
func (l *lab) moves(ctx context.Context, c cell) error {
	for _, n := range l.cfg.Members {
		r := l.row(Moves, c)
		r.Move = &MoveRow{Moves: l.cfg.Moves, Objects: l.cfg.Objects, Members: n}
		g, err := l.prepare(c)
		if err != nil {
			return err
		}
		if err = g.startMoveGroups(ctx, n); err == nil {
			err = r.Move.measure(ctx, l, g)
		}
		if err = g.closed(err); err != nil {
			return err
		}
		l.done(r)
	}
	return nil
}

func (g *group) startMoveGroups(ctx context.Context, n int) error {
	if err := g.StartCoordinator(ctx); err != nil {
		return err
	}
	if _, err := g.Command(ctx, append([]string{"cluster", "init", "--coordinators", g.Coordinator}, moveGroups...)...); err != nil {
		return err
	}
	args := slices.Concat(g.args, []string{"--lane-transport", g.cell.transport()})
	for _, name := range moveGroups {
		for range n {
			if err := g.StartMemberOf(ctx, name, g.Add(), args...); err != nil {
				return err
			}
		}
	}
	if err := g.allInSync(ctx, n); err != nil {
		return err
	}
	return g.startClients(ctx)
}

// allInSync waits until each group has n members in sync.
func (g *group) allInSync(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		var is struct {
			Groups []members.Status `json:"groups"`
		}
		out, err := g.Command(ctx, "cluster", "status", "--json", "--coordinators", g.Coordinator)
		if err == nil {
			err = json.Unmarshal(out, &is)
		}
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(is.Groups, func(s members.Status) bool { return len(s.InSync) < n }) && len(is.Groups) == len(moveGroups) {
			return nil
		}
		if err := harness.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func (m *MoveRow) measure(ctx context.Context, l *lab, g *group) error {
	for _, do := range []command{{Do: doFill, Objects: m.Objects}, {Do: doBeside, Slot: movedSlot}} {
		l.note(fmt.Sprintf("moves over %v, %d members: %s", g.cell, m.Members, do.Do))
		if _, err := harness.Ask[any](ctx, g.clients, do); err != nil {
			return err
		}
	}
	if err := harness.Sleep(ctx, l.cfg.Warmup); err != nil {
		return err
	}
	var took, others []float64
	for i := range m.Moves {
		l.note(fmt.Sprintf("moves over %v, %d members: %d of %d", g.cell, m.Members, i+1, m.Moves))
		if _, _, err := m.take(ctx, g); err != nil { // What was before does not count.
			return err
		}
		if err := harness.Sleep(ctx, beforeMove); err != nil {
			return err
		}
		slot, before, err := m.take(ctx, g)
		if err != nil {
			return err
		}
		m.NoMove = max(m.NoMove, ms(slot.Gap))
		began := time.Now()
		to := moveGroups[(i+1)%2] // The first group has it at the beginning.
		if _, err := g.Command(ctx, "cluster", "move", fmt.Sprint(movedSlot), to, "--coordinators", g.Coordinator); err != nil {
			return err
		}
		took = append(took, time.Since(began).Seconds())
		slot, during, err := m.take(ctx, g)
		if err != nil {
			return err
		}
		m.Gaps = append(m.Gaps, ms(slot.Gap))
		others = append(others, stats.Ratio(perSecond(during), perSecond(before)))
	}
	sorted := slices.Sorted(slices.Values(m.Gaps))
	m.GapP50, m.GapP99, m.GapMax = nearest(sorted, .5), nearest(sorted, .99), sorted[len(sorted)-1]
	m.Command, m.Others, m.OthersMin = stats.Median(took), stats.Median(others), slices.Min(others)
	return nil
}

func perSecond(w Window) float64 { return float64(w.Writes) / w.Elapsed.Seconds() }

// take ends the windows of the slot's writers and of the others.
func (m *MoveRow) take(ctx context.Context, g *group) (slot, others Window, err error) {
	both, err := harness.Ask[[]Window](ctx, g.clients, command{Do: doBoth})
	if err != nil || len(both) != 2 {
		return slot, others, err
	}
	for _, w := range both {
		m.Writes += w.Writes
		if m.Errors += w.Errors; m.First == "" {
			m.First = w.First
		}
	}
	return both[0], both[1], nil
}

// beside starts writers of the ids of a slot, and of others.
func (c *clients) beside(ctx context.Context, slot uint16) (err error) {
	var inside []uint64
	for n := uint64(1 << 40); len(inside) < ofSlot; n++ {
		if placement.SlotOf([]byte(feature(n).ID)) == slot {
			inside = append(inside, n)
		}
	}
	ids := func(next func() uint64) func(int, *catfish.Client) (writer, error) {
		return func(_ int, conn *catfish.Client) (writer, error) {
			f, err := conn.Features(Features)
			return func(ctx context.Context) error {
				_, _, err := f.Put(ctx, feature(next()), catfish.Condition{})
				return err
			}, err
		}
	}
	if c.slot, err = c.start(ctx, writersEach, ids(func() uint64 { return inside[c.next.Add(1)%ofSlot] })); err != nil {
		return err
	}
	c.going, err = c.start(ctx, writersEach, ids(func() uint64 {
		for {
			if n := c.next.Add(1); placement.SlotOf([]byte(feature(n).ID)) != slot {
				return n
			}
		}
	}))
	return err
}
