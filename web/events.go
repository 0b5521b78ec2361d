package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/catfish/access"
	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/disk"
)

// Events of an area (package store, watch.go)
//
// A client that follows an area first gets an event that the watch stands, then
// searches, then applies what comes: nothing is in between. Each event has an id, a
// position in the store's log (eventposition.go). Who comes back with one gets what was
// written after it, without loss and without doubles, from another process, too. If that is not
// kept any more, event reset says so: search again. The watch goes on meanwhile, so
// that nothing is lost between the reset and the search either.
//
// A client that is slow is not waited for: the watcher keeps a place in the log, and
// no events (at most a batch of them).

const (
	eventsPattern = "/collections/{collectionId}/events"

	// watcherBytes is what a watcher takes, and areaBytes what its area takes for
	// each of its weight (store.WatchLimits).
	watcherBytes, areaBytes = 20 << 10, 1 << 10
	// compiledBytes is what a condition takes for each byte of its text, at most:
	// the longest one takes 300 KB.
	compiledBytes = 80
	// eventsTurn is how many events are taken before others have their turn, and
	// eventsBatch is when those that wait are written.
	eventsTurn, eventsBatch = 64, 64 << 10
)

// following is one client that follows an area, or several that have names.
type following struct {
	*eventWriter
	c     api.FeatureCollection
	areas map[string]*followed // by name; one without a name: the only one
	w     *store.Watcher
	at    position // up to which the client has, or will have, all events
	begun position // where it began

	held   *store.Event // that is yet to be judged; nil: none
	failed error        // of held
}

// events answers with what is written to an area from now on, or behind an event.
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
// come back, or in parameter lastEventId; zero: there is none.
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

// watch begins to watch behind the position. If what is behind it is not kept, or
// there is none of it, the watch is from now on; then lost is the reason.
func (f *following) watch() (lost, err error) {
	from := store.WatchOptions{From: f.at.revision, History: f.at.history}
	if from.From == 0 && f.at.history != 0 {
		lost = errors.New("revision 0 is before all writes") // From 0 would mean now.
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
			err = ofArea(name, w.Add(name, a.query))
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
		next = mark{} // of other areas, or of nothing that follows: rather an event twice than none
	}
	f.at = position{f.w.Revision(), f.w.History(), next}
	f.begun = f.at
	return lost, nil
}

// searchAgain reports whether an error means that events are lost.
func searchAgain(err error) bool {
	return errors.Is(err, store.ErrLagged) || errors.Is(err, disk.ErrTrimmed) || errors.Is(err, disk.ErrAhead)
}

// gather waits for events, at most eventsInterval, and has something to write, or
// the reason why the stream is to end.
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

// again goes on from now on. If the collection was swapped with another one, that
// has the name.
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

// long goes on with what took long, in several turns.
func (f *following) long() (idle bool, err error) {
	p := &limits.Pacer{Of: f.host, Ctx: f.ctx, Source: f.source}
	defer p.End()
	if err := p.Pause(); err != nil {
		return false, err
	}
	return f.some(&feature.Steps{Pause: p.Tick})
}

// some takes some events, in steps. It is idle if there are none left.
func (f *following) some(steps *feature.Steps) (idle bool, err error) {
	for n := 0; n < eventsTurn && len(f.batch) < eventsBatch; n++ {
		if f.held == nil {
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
			f.held, f.failed = &e, err
			f.at.moveAfter(&e)
		}
		e, err := f.held, f.failed
		if err == nil {
			if err = f.judge(e, steps); err != nil && errors.Is(err, steps.Err()) {
				return false, err
			}
		}
		f.held = nil
		switch {
		case err != nil: // Whether the feature matches is not known.
			err = f.reset(err)
		case e.Kind != store.Progress:
			err = f.changed(e)
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// judge makes an event of the query one of the whole filter.
func (f *following) judge(e *store.Event, steps *feature.Steps) (err error) {
	if e.Kind == store.Progress || f.areas[e.Name].rest == nil {
		return nil
	}
	rest := f.areas[e.Name].rest
	before, after := e.Kind != store.Enter, e.Kind != store.Exit
	if before {
		before, err = rest.match(e.Old, steps)
	}
	if after && err == nil {
		after, err = rest.match(e.New, steps)
	}
	if err != nil {
		return err
	}
	switch {
	case before && after: // as it is
	case after:
		e.Kind = store.Enter
	case before && e.Kind != store.Exit:
		e.Kind, e.Why = store.Exit, store.Filtered
	case !before:
		e.Kind = store.Progress
	}
	return nil
}

// changed writes an event of a feature: as it is now, or, if it is gone, as it was.
func (f *following) changed(e *store.Event) error {
	g := e.New
	if g == nil {
		g = e.Old
	}
	return f.event(e.Kind.String(), f.at.String(), func(b []byte) []byte {
		b = appendFeature(b, g)
		b = append(b[:len(b)-1], `,"revision":`...)
		b = strconv.AppendUint(b, e.Revision, 10)
		if e.Kind == store.Exit {
			b = append(append(append(b, `,"why":"`...), e.Why.String()...), '"')
		}
		if e.Name != "" {
			b = appendText(append(b, `,"area":`...), e.Name)
		}
		return append(b, '}')
	})
}

// progress writes up to where there was nothing else.
func (f *following) progress() error {
	return f.event("progress", f.at.String(), func(b []byte) []byte {
		return append(strconv.AppendUint(append(b, `{"revision":`...), f.at.revision, 10), '}')
	})
}

// reset writes that events are lost, and why.
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
