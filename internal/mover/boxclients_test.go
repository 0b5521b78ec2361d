package mover

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/rstar"
)

// Clients have boxes, too, each its own: they lie in rows of a world in which both groups have half of
// the curve.

var boxWorld = rstar.Rect{MaxX: 8, MaxY: people * 2}

// row is where a client's boxes are.
func row(i int) rstar.Rect {
	return rstar.Rect{MinX: 0, MinY: float64(2 * i), MaxX: boxWorld.MaxX, MaxY: float64(2*i) + 1.9}
}

func boxOf(i, at int) rstar.Item {
	x, y := float64(at%8)+.2, float64(2*i+at/8)+.2
	return rstar.Item{Rect: rstar.Rect{MinX: x, MinY: y, MaxX: x + .5, MaxY: y + .5}, ID: uint64(at)}
}

// boxes are how often each of a client's boxes is there.
type boxes [16]int

func (c *clients) roads(g int) (*store.Entry, error) {
	return c.w.groups[g].store.Of("roads", store.KindBoxes)
}

// writeBox inserts or deletes a box, in the group that takes it.
func (c *clients) writeBox(i, n int) {
	at := n * 5 % len(c.boxes[i])
	it, erase := boxOf(i, at), c.boxes[i][at] == 2
	for range 100_000 {
		for g := range c.w.groups {
			e, err := c.roads(g)
			found := true
			switch {
			case err != nil:
			case erase:
				found, err = e.Boxes.Delete(it.Rect, it.ID)
			default:
				err = e.Boxes.Insert(it.Rect, it.ID)
			}
			switch {
			case errors.Is(err, fault.ErrMoved):
				continue
			case err != nil || !found:
				c.say("writing box %v: %v, %v", it, found, err)
			case erase:
				c.boxes[i][at]--
			default:
				c.boxes[i][at]++
			}
			return
		}
		time.Sleep(time.Millisecond)
	}
	c.say("no group takes box %v for 100 s", it)
}

// countBoxes asks both groups by one map, as clients do by message.
func (c *clients) countBoxes(i int) {
	want := 0
	for _, n := range c.boxes[i] {
		want += n
	}
	for range 100_000 {
		epoch, n := c.w.keeper.now().Epoch, 0
		var err error
		for g, of := range c.w.groups {
			e, missing := c.roads(g)
			err = errors.Join(err, missing, of.store.MayReadAll(epoch))
			if err == nil {
				n += e.Tree.Count(row(i))
				err = of.store.MayReadAll(epoch)
			}
		}
		if err == nil {
			if n != want {
				c.say("%d boxes in row %d, want %d", n, i, want)
			}
			return
		}
		time.Sleep(time.Millisecond)
	}
	c.say("the groups have no epoch together for 100 s")
}

// lookAtBoxes reads the memory of both groups, under leases of one epoch: it has copies, too.
func (c *clients) lookAtBoxes(i int, is *placement.Map, leases *[2]lease) {
	for g := range c.w.groups {
		c.renew(g, &leases[g])
		if leases[g].epoch != is.Epoch {
			return
		}
	}
	var seen [len(boxes{})]int
	for g := range c.w.groups {
		e, err := c.roads(g)
		if err != nil {
			return
		}
		for at := range seen {
			it := boxOf(i, at)
			if has, _ := e.Tree.Has(it.Rect, it.ID); has {
				seen[at]++
			}
		}
	}
	if now := c.w.now(); now >= leases[0].until || now >= leases[1].until {
		return
	}
	c.looks.Add(1)
	for at, n := range seen {
		if n != min(1, c.boxes[i][at]) {
			c.say("box %v is in the memory of %d groups, and it is there %d times", boxOf(i, at), n, c.boxes[i][at])
		}
	}
}

// renew asks a group for a lease, if the one that the client has ends soon.
func (c *clients) renew(g int, l *lease) {
	p := c.w.groups[g].is.Load()
	if p.dead.Load() || p.mute.Load() || c.w.now()+groupLease/2 <= l.until {
		return
	}
	grant := replica.Lease{Term: p.term, Until: c.w.now() + groupLease}
	if c.w.plant != unbounded {
		grant = p.m.Leases.Grant(grant)
	}
	if grant.Term != 0 {
		*l = lease{grant.Until, p.epoch.Load()}
	}
}

// allRoads is the whole of the collection.
func allRoads() []store.Range {
	return []store.Range{{Collection: "roads", World: boxWorld, Last: 1<<64 - 1}}
}

// rangesOf are the ranges of a group.
func rangesOf(m *placement.Map, g placement.Index) (parts []placement.Part) {
	return m.RangesOfOthers(1 - g)
}

// boxesMove has the ranges of a group move to the other one.
func (w *world) boxesMove(from placement.Index) error {
	return w.keeper.change(func(m *placement.Map) (*placement.Map, error) {
		var moves []placement.Move
		for _, p := range rangesOf(m, from) {
			moves = append(moves, placement.Move{Part: p, From: from, To: 1 - from})
		}
		return m.Begin(moves...)
	})
}

// boxesAlone are moves of ranges alone: one is divided, both parts go to the other group, all come back.
func (w *world) boxesAlone(ctx context.Context) string {
	c := w.clients()
	time.Sleep(time.Second)
	err := w.keeper.change(func(m *placement.Map) (*placement.Map, error) { return m.Split("roads", 0, 1<<62) })
	for _, from := range []placement.Index{0, 1} {
		if err == nil {
			err = w.boxesMove(from)
		}
		if err != nil {
			c.stop()
			return err.Error()
		}
		if late := w.eventually("the moves have ended", func() bool { return len(w.keeper.now().Moves) == 0 }); late != "" {
			c.stop()
			return late
		}
		if n := len(rangesOf(w.keeper.now(), from)); n > 0 {
			c.stop()
			return fmt.Sprintf("%d ranges have not moved", n)
		}
	}
	time.Sleep(time.Second) // Leases are given again.
	wrong := c.finish()
	if wrong == "" && (c.looks.Load() < 5 || ctx.Err() != nil) {
		wrong = fmt.Sprintf("%d one-sided reads of boxes", c.looks.Load())
	}
	return wrong
}
