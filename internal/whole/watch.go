package whole

import (
	"errors"
	"time"

	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/store"
)

// eventsAtOnce is how many events of other groups wait in memory.
const eventsAtOnce = 16

// lookTime is how often a group that has no events looks whether the map is still the same.
const lookTime = time.Second

// watch gives the events of this group, until ctx ends.
func (p *part) watch() error {
	w, err := p.c.Watch(p.ctx, store.WatchOptions{})
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
	if err := errors.Join(p.sameEpoch(), p.r.events.stands(), p.r.events.flush()); err != nil {
		return err
	}
	f := store.Follower{Watcher: w, Slots: p.o.Host, Source: p.turn.Source, At: w.Revision()}
	for {
		b := &batch{events: p.r.events}
		if err := f.Gather(p.ctx, lookTime, b); err != nil {
			return err
		}
		if err := errors.Join(p.sameEpoch(), p.r.events.flush()); err != nil {
			return err
		}
		if err := p.ctx.Err(); err != nil {
			return err
		}
	}
}

// batch is what a group gives at once.
type batch struct {
	*events
	n int
}

func (b *batch) Filled() (some, full bool) { return b.n > 0, b.n >= eventsAtOnce }

func (b *batch) Take(e *store.Event, failed error) error {
	b.n++
	return b.take(e, failed)
}
