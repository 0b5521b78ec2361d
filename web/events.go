package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/disk"
	"github.com/catfish-index/catfish/store/query"
)

// Events of an area (package store, watch.go)
//
// A client that follows an area first gets an event that says that the watch has begun,
// then searches, then applies the events: it misses nothing between. Each event has an id,
// a position in the store's log (eventposition.go). A client that resumes with an id gets
// all later writes, without loss or duplicates, even from another process. If the log no
// longer keeps them, event reset says so: the client must search again. The watch continues
// meanwhile, so nothing is lost between the reset and the search either.
//
// The server does not wait for a slow client: the watcher keeps a position in the log,
// not the events (at most a batch of them).

const (
	eventsPattern = "/collections/{collectionId}/events"

	// watcherBytes is the memory of a watcher, and areaBytes the memory of its area per
	// unit of weight (store.WatchLimits).
	watcherBytes, areaBytes = 20 << 10, 1 << 10
	// compiledBytes is the most memory that a condition takes per byte of its text: the
	// longest condition takes 300 KB.
	compiledBytes = 80
	// eventsTurn is the number of events in one quantum, and eventsBatch the size at
	// which pending events are written.
	eventsTurn, eventsBatch = 64, 64 << 10
)

// following is one client that follows an area, or several named areas.
type following struct {
	*eventWriter
	c     api.FeatureCollection
	areas map[string]*store.Query // by name; a single area may have none
	w     *store.Watcher
	at    position // the client has, or will have, all events up to it
	begun position // where it began
}

// events streams the writes to an area from now on, or after the given event.
func (q *request) events() error {
	c, err := q.find(access.Read)
	if err != nil {
		return err
	}
	f := &following{c: c}
	if f.at, err = q.lastEvent(); err != nil {
		return err
	}
	if f.areas, err = q.followed(c); err != nil {
		return err
	}
	if f.eventWriter, err = q.newEventWriter(); err != nil {
		return err
	}
	defer f.close()
	lost, err := f.watch()
	if err != nil {
		return err
	}
	defer func() { f.w.Close() }()
	f.begin()
	if q.r.Method == http.MethodHead {
		return nil
	}
	if lost != nil {
		err = f.reset(lost)
	} else {
		err = f.progress()
	}
	for err == nil {
		if err = f.flush(); err == nil {
			err = f.gather()
		}
	}
	f.leave()
	if p := problemOf(err); p.Status == http.StatusInternalServerError && q.ctx.Err() == nil && !f.torn {
		q.o.Logger.Warn("HTTP event stream failed", "collection", c.Name(), "err", err)
	}
	return nil
}

// lastEvent is the position in header Last-Event-ID, which browsers send when they
// reconnect, or in parameter lastEventId; zero: neither is given.
func (q *request) lastEvent() (p position, err error) {
	text, _ := q.params.take("lastEventId")
	name := "lastEventId"
	if h := q.r.Header.Get("Last-Event-ID"); h != "" {
		name, text = "Last-Event-ID", h
	}
	if text == "" {
		return p, nil
	}
	if p, err = positionOf(text); err != nil {
		return p, &paramError{name: name, value: text, want: "the id of an event"}
	}
	return p, nil
}

// watch starts to watch after the position. If the log does not keep what follows, or
// does not have the position, the watch starts now, and lost is the reason.
func (f *following) watch() (lost, err error) {
	from := store.WatchOptions{From: f.at.revision, History: f.at.history}
	if from.From == 0 && f.at.history != 0 {
		lost = errors.New("revision 0 is before all writes") // Watch takes 0 for now.
	}
	w, err := f.c.Watch(f.ctx, from)
	if searchAgain(err) {
		lost = err
		w, err = f.c.Watch(f.ctx, store.WatchOptions{})
	}
	if err != nil {
		return nil, err
	}
	for name, a := range f.areas {
		err := f.turns.Tick()
		if err == nil {
			err = ofArea(name, w.Add(name, *a))
		}
		if err != nil {
			w.Close()
			return nil, err
		}
	}
	f.turns.End()
	f.w = w
	next := f.at.next
	if f.areas[next.name] == nil || w.Revision() != f.at.revision {
		next = mark{} // another area, or another revision: repeat an event rather than lose one
	}
	f.at = position{f.w.Revision(), f.w.History(), next}
	f.begun = f.at
	return lost, nil
}

// searchAgain reports whether an error means that events are lost.
func searchAgain(err error) bool {
	return errors.Is(err, store.ErrLagged) || errors.Is(err, disk.ErrTrimmed) || errors.Is(err, disk.ErrAhead)
}

// gather waits for events, at most eventsInterval. It returns when there is something
// to write, or with the reason to end the stream.
func (f *following) gather() error {
	wait, done := context.WithTimeout(f.ctx, eventsInterval)
	defer done()
	for {
		var idle bool
		var err error
		if turned := f.host.RunStep(f.ctx, f.source, func() { idle, err = f.some(store.Soon()) }); turned != nil {
			return turned
		}
		if errors.Is(err, store.ErrBudget) {
			idle, err = f.long()
		}
		switch {
		case searchAgain(err):
			return f.again(err)
		case err != nil:
			return err
		case len(f.batch) >= eventsBatch || idle && len(f.batch) > 0:
			return nil
		case idle && wait.Err() != nil:
			if err := context.Cause(f.ctx); err != nil {
				return err
			}
			return f.progress()
		case idle:
			f.w.Wait(wait)
		}
	}
}

// again restarts the watch from now on. If the collection was swapped, it watches the
// one that has the name now.
func (f *following) again(why error) error {
	f.w.Close()
	c, err := f.find(access.Read)
	if err != nil {
		return err
	}
	f.c, f.at = c, position{}
	if _, err := f.watch(); err != nil {
		return err
	}
	return f.reset(why)
}

// long resumes judging that ran out of steps, in several scheduling slots.
func (f *following) long() (idle bool, err error) {
	p := &limits.Pacer{Of: f.host, Ctx: f.ctx, Source: f.source}
	defer p.End()
	if err := p.Pause(); err != nil {
		return false, err
	}
	return f.some(&feature.Steps{Pause: p.Tick})
}

// some takes some events, in steps. It is idle if no events are left.
func (f *following) some(steps *feature.Steps) (idle bool, err error) {
	for n := 0; n < eventsTurn && len(f.batch) < eventsBatch; n++ {
		e, ok, err := f.w.TryIn(steps)
		if err != nil && !ok {
			return false, err
		}
		if !ok {
			f.at.moveTo(f.w.Revision())
			return true, nil
		}
		if f.begun.has(&e) {
			continue
		}
		f.at.moveAfter(&e)
		switch {
		case err != nil: // It is unknown whether the feature matches.
			err = f.reset(err)
		case e.Kind != query.Progress:
			err = f.changed(&e)
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// changed writes a feature's event: its present state, or its last if it was deleted.
func (f *following) changed(e *store.Event) error {
	g := e.New
	if g == nil {
		g = e.Old
	}
	return f.event(e.Kind.String(), f.at.String(), func(b []byte) []byte {
		b = appendFeature(b, g)
		b = append(b[:len(b)-1], `,"revision":`...)
		b = strconv.AppendUint(b, e.Revision, 10)
		if e.Kind == query.Exit {
			b = append(append(append(b, `,"why":"`...), e.Why.String()...), '"')
		}
		if e.Name != "" {
			b = appendText(append(b, `,"area":`...), e.Name)
		}
		return append(b, '}')
	})
}

// progress writes the position up to which there were no other events.
func (f *following) progress() error {
	return f.event("progress", f.at.String(), func(b []byte) []byte {
		return append(strconv.AppendUint(append(b, `{"revision":`...), f.at.revision, 10), '}')
	})
}

// reset writes that events are lost, and the reason.
func (f *following) reset(why error) error {
	text, err := json.Marshal(clip(withoutPackages(why.Error()), maxDetail))
	if err != nil {
		return err
	}
	return f.event("reset", f.at.String(), func(b []byte) []byte {
		b = append(append(b, `{"reason":`...), text...)
		return append(strconv.AppendUint(append(b, `,"revision":`...), f.at.revision, 10), '}')
	})
}
