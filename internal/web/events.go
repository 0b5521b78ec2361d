package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/whole"
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

	// compiledBytes is the most memory that a condition takes per byte of its text: the
	// longest condition takes 300 KB.
	compiledBytes = 80
	// eventsBatch is the size at which pending events are written.
	eventsBatch = 64 << 10
)

// following is one client that follows an area, or several named areas.
type following struct {
	*eventWriter
	c        whole.Collection
	areas    map[string]*store.Query // by name; a single area may have none
	follower *whole.Follower
	at       position // the client has, or will have, all events up to it
	begun    position // where it began
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
	defer func() { f.follower.Close() }()
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
	if from := f.at; from.groups == nil && from.revision == 0 && from.history != 0 {
		lost = errors.New("revision 0 is before all writes") // Watch takes 0 for now.
	}
	w, err := f.follow(f.at.from())
	if store.SearchAgain(err) {
		lost = err
		w, err = f.follow(whole.From{})
	}
	if err != nil {
		return nil, err
	}
	f.follower = w
	was := f.at
	f.at = position{w.Revision(), w.History(), w.Position(), was.group, was.next}
	if lost != nil || f.areas[was.next.name] == nil || f.at.looked() != was.looked() {
		f.at.group, f.at.next = 0, mark{} // another area, or another revision: repeat an event rather than lose one
	}
	f.begun = f.at
	return lost, nil
}

// follow starts to follow the areas.
func (f *following) follow(from whole.From) (_ *whole.Follower, err error) {
	w, err := f.c.Follow(f.ctx, from, f.host, f.source)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	for name, a := range f.areas {
		if err := f.turns.Tick(); err != nil {
			return nil, err
		}
		if err := ofArea(name, w.Add(name, *a)); err != nil {
			return nil, err
		}
	}
	f.turns.End()
	return w, w.Start(f.ctx)
}

// gather waits for events, at most eventsInterval. It returns when there is something
// to write, or with the reason to end the stream.
func (f *following) gather() error {
	err := f.follower.Gather(f.ctx, eventsInterval, f)
	f.at.moveTo(f.follower)
	switch {
	case store.SearchAgain(err):
		return f.again(err)
	case err != nil, len(f.batch) > 0:
		return err
	case f.ctx.Err() != nil:
		return context.Cause(f.ctx)
	}
	return f.progress()
}

// again restarts the watch from now on. If the collection was swapped, it watches the
// one that has the name now.
func (f *following) again(why error) error {
	f.follower.Close()
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

// Filled is for store.Follower.
func (f *following) Filled() (some, full bool) {
	return len(f.batch) > 0, len(f.batch) >= eventsBatch
}

// Take writes an event, unless the client has it.
func (f *following) Take(e *store.Event, failed error) error {
	if f.begun.has(f.follower.Group(), e) {
		return nil
	}
	f.at.moveAfter(f.follower, e)
	switch {
	case failed != nil: // It is unknown whether the feature matches.
		return f.reset(failed)
	case e.Kind == query.Progress:
		return nil
	}
	return f.changed(e)
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
