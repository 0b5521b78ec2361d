package mover

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
)

// clients write and read ids, each its own.
type clients struct {
	w      *world
	cancel context.CancelFunc
	under  sync.WaitGroup
	ids    []string
	last   []int // by id; 0: deleted
	writes atomic.Int64
	direct atomic.Int64 // one-sided reads that counted
	boxes  [people]boxes
	looks  atomic.Int64 // the same of boxes
}

// lease is one that a client has of a group.
type lease struct {
	until time.Duration
	epoch uint64
}

// groupLease is as long as a group's.
const groupLease = 400 * time.Millisecond

const people = 4

func (w *world) clients() *clients {
	c := &clients{w: w}
	if _, err := w.groups[0].store.CreateFeatures("places", store.CollectionOptions{Title: "Places"}); err != nil {
		w.t.Fatal(err)
	}
	for _, g := range w.groups {
		if _, err := g.store.Create("roads", store.Spec{Kind: store.KindBoxes, Keep: true}); err != nil {
			w.t.Fatal(err)
		}
	}
	for i := range 20 { // records, which stay as they are
		id := fmt.Sprintf("id %d", i)
		g := w.groups[w.keeper.now().Of([]byte(id))]
		e, err := g.store.Create("records", store.Spec{Kind: store.KindRecords, Keep: true})
		if errors.Is(err, store.ErrCollectionExists) {
			e, err = g.store.Of("records", store.KindRecords)
		}
		if err == nil {
			_, err = e.Kept.Put(kv.Entry{Key: []byte(id), Value: []byte(id), Flags: 7}, kv.Condition{})
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(context.Background())
	for i := range 40 {
		c.ids = append(c.ids, fmt.Sprintf("id %d", i))
	}
	c.last = make([]int, len(c.ids))
	for i := range people {
		c.under.Go(func() {
			is := w.keeper.now()
			var leases [2]lease
			for n := 1; ctx.Err() == nil; n++ {
				at := (n*people + i) % len(c.ids)
				c.check(at)
				c.write(at, n)
				c.check(at)
				c.oneSided(at, &is, &leases)
				if n%3 == 0 {
					c.writeBox(i, n/3)
					c.countBoxes(i)
					c.lookAtBoxes(i, is, &leases)
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	return c
}

// do calls each group until one has the id.
func (c *clients) do(id string, f func(of *store.Collection) error) error {
	for range 100_000 {
		for _, g := range c.w.groups {
			of, err := g.store.Collection("places")
			if err == nil {
				err = f(of)
			}
			if !errors.Is(err, fault.ErrMoved) && !errors.Is(err, store.ErrUnknownCollection) {
				return err
			}
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("no group has %q for 100 s", id)
}

func (c *clients) say(format string, v ...any) {
	s := fmt.Sprintf(format, v...)
	c.w.wrong.CompareAndSwap(nil, &s)
}

func (c *clients) write(at, n int) {
	id := c.ids[at]
	erase := n%7 == 0 && c.last[at] != 0
	err := c.do(id, func(of *store.Collection) (err error) {
		if erase {
			_, err = of.Delete(context.Background(), id, kv.Condition{})
			return err
		}
		_, _, err = of.Put(context.Background(), store.Feature{ID: id, Geometry: orb.Point{1, 2}, Properties: fmt.Appendf(nil, `{"n":%d}`, n)}, kv.Condition{})
		return err
	})
	if err != nil {
		c.say("writing %q: %v", id, err)
	}
	if c.last[at] = n; erase {
		c.last[at] = 0
	}
	c.writes.Add(1)
}

func (c *clients) check(at int) {
	var has store.Feature
	err := c.do(c.ids[at], func(of *store.Collection) (err error) {
		has, err = of.Get(context.Background(), c.ids[at])
		return err
	})
	switch n := c.last[at]; {
	case n == 0 && errors.Is(err, kv.ErrNotFound):
	case n == 0 || err != nil || string(has.Properties) != fmt.Sprintf(`{"n":%d}`, n):
		c.say("%q has %s, %v, want number %d", c.ids[at], has.Properties, err, n)
	}
}

// oneSided reads an id's memory, under a lease, by the client's map.
func (c *clients) oneSided(at int, is **placement.Map, leases *[2]lease) {
	of := (*is).Of([]byte(c.ids[at]))
	g, l := c.w.groups[of], &leases[of]
	c.renew(int(of), l)
	if l.epoch != (*is).Epoch {
		*is = c.w.keeper.now()
		return
	}
	e, err := g.store.Of("places", store.KindFeatures)
	if err != nil {
		return
	}
	v, _, err := e.Records.Get([]byte(c.ids[at]), new(kv.Buffer))
	if c.w.now() >= l.until {
		return
	}
	c.direct.Add(1)
	var n struct{ N int }
	if err == nil {
		if view, failed := feature.Open(v.Value); failed == nil {
			_ = json.Unmarshal(view.Properties(), &n)
		}
	}
	if n.N != c.last[at] {
		c.say("%q has %d in the memory of %s, %v, want number %d", c.ids[at], n.N, g.name, err, c.last[at])
	}
}

// stop ends the clients' writes.
func (c *clients) stop() {
	c.cancel()
	c.under.Wait()
}

// wrongs looks at all that must hold when moves have ended, "": it does.
func (c *clients) wrongs() string {
	for at := range c.ids {
		c.check(at)
	}
	if s := c.w.wrong.Load(); s != nil {
		return *s
	}
	for i := range c.boxes {
		c.countBoxes(i)
	}
	if s := c.w.wrong.Load(); s != nil {
		return *s
	}
	var wrong []string
	all := store.Parts{SlotSet: store.AllSlots(), Ranges: allRoads()}
	in := map[string]string{}
	for _, g := range c.w.groups {
		for at := (store.SlotCursor{}); !at.Done; {
			states, next, err := g.store.SlotScan(context.Background(), &all, at, 0)
			if err != nil {
				return err.Error()
			}
			for _, s := range states {
				key := s.Collection + " " + string(s.ID)
				if in[key] != "" {
					wrong = append(wrong, fmt.Sprintf("%s is in %s and %s", key, in[key], g.name))
				}
				in[key] = g.name
				if s.Records && !bytes.Contains(s.Value, s.ID) {
					wrong = append(wrong, fmt.Sprintf("%s has %q", key, s.Value))
				}
			}
			at = next
		}
		if clean, err := g.store.Settle(context.Background()); !clean || err != nil {
			wrong = append(wrong, fmt.Sprintf("the store of %s is not clean, %v", g.name, err))
		}
		if s, _ := g.store.Slots(); s.Frozen != (store.SlotSet{}) || s.Closed != (store.SlotSet{}) || len(s.FrozenRanges)+len(s.ClosedRanges) > 0 || s.Moving {
			wrong = append(wrong, fmt.Sprintf("slots of %s are frozen or closed, or move", g.name))
		}
	}
	if a, b := c.w.groups[0].store.Defined(), c.w.groups[1].store.Defined(); len(a) < 2 || fmt.Sprint(a) != fmt.Sprint(b) {
		wrong = append(wrong, fmt.Sprintf("collections %v and %v", a, b))
	}
	exist := 20 // records
	for _, n := range c.last {
		if n != 0 {
			exist++
		}
	}
	for i := range c.boxes {
		for _, n := range c.boxes[i] {
			exist += min(1, n)
		}
	}
	if len(in) != exist {
		wrong = append(wrong, fmt.Sprintf("%d ids in both groups, want %d", len(in), exist))
	}
	return strings.Join(wrong, "; ")
}

// finish waits until no slot moves, and returns what is wrong then, or was meanwhile.
func (c *clients) finish() string {
	w := c.w
	late := all(
		w.eventually("the moves have ended", func() bool { return len(w.keeper.now().Moves) == 0 }),
		w.eventually("the stores are tidy", func() bool {
			return !slices.ContainsFunc(w.groups[:], func(g *group) bool {
				clean, err := g.store.Settle(context.Background())
				s, _ := g.store.Slots()
				return err != nil || !clean || s.Moving
			})
		}))
	c.stop()
	return all(late, c.wrongs())
}
