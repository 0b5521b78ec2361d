package whole

import (
	"errors"
	"time"

	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// eventsAtOnce is how many events of other groups wait in memory.
const eventsAtOnce = 16

// lookTime is how often a group that has no events looks whether the map is still the same.
const lookTime = time.Second

// watch gives the events of this group, until ctx ends.
func (p *part) watch() error {
	w, err := p.c.Watch(p.ctx, p.r.From)
	if err != nil {
		return err
	}
	defer w.Close()
	programs := map[string]*filter.Program{} // Areas share them.
	once := func(source string) (*filter.Program, error) {
		if programs[source] == nil {
			f, err := p.o.Compile(source)
			if err != nil {
				return nil, err
			}
			programs[source] = f
		}
		return programs[source], nil
	}
	for i := range p.r.Areas {
		q, err := p.r.Areas[i].Query.query(once)
		if err == nil {
			err = p.turn.Tick()
		}
		if err == nil {
			err = w.Add(p.r.Areas[i].Name, q)
		}
		if err != nil {
			return err
		}
	}
	p.turn.End()
	if err := errors.Join(p.sameEpoch(), p.r.events.stands(store.WatchOptions{From: w.Revision(), History: w.History()}), p.r.events.flush()); err != nil {
		return err
	}
	f := store.Follower{Watcher: w, Slots: p.o.Host, Source: p.turn.Source, At: w.Revision()}
	b, at := new(batch), f.At
	for first := true; ; first = false { // The first progress ends the turn of one that has no more events.
		err := f.Gather(p.ctx, lookTime, b)
		for i := range b.events {
			e := &b.events[i]
			if err := p.r.events.take(&e.Event, e.failed); err != nil {
				return err
			}
			at = e.Resume
		}
		amid := len(b.events) > 0 && b.events[len(b.events)-1].Resume < b.events[len(b.events)-1].Revision
		if b.events = nil; err == nil && (first || f.At > at) && !amid {
			at = f.At
			err = p.r.events.take(&store.Event{Kind: query.Progress, Revision: at, Resume: at}, nil)
		}
		if err := errors.Join(err, p.sameEpoch(), p.r.events.flush()); err != nil {
			return err
		}
		if err := p.ctx.Err(); err != nil {
			return err
		}
	}
}

// batch is what a group gives at once. It is given outside of scheduling slots: the taker waits
// for the client, and for groups that need slots, too.
type batch struct{ events []event }

func (b *batch) Filled() (some, full bool) { return len(b.events) > 0, len(b.events) >= eventsAtOnce }

func (b *batch) Take(e *store.Event, failed error) error {
	b.events = append(b.events, event{Event: *e, failed: failed})
	return nil
}
