package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Watcher gives the events of any number of areas of a collection. Next is for one
// goroutine at a time, everything else for all.
type Watcher struct {
	c    *Collection
	h    *hub
	stop func() bool
	// wake has a token if there is something in the queue, or the watcher was demoted
	// or has ended, since it looked.
	wake chan struct{}

	start uint64        // WatchOptions.From, or the revision at the start
	pos   atomic.Uint64 // see watch.go; events not yet given are above it, too

	mu      sync.Mutex // before hub.mu
	started bool
	names   map[string]*area
	areas   areas
	filters map[conditions]*sharedFilter
	weight  int

	// Under hub.mu.
	live  bool
	scan  uint64
	queue []uint64
	err   error   // not nil: it has ended
	few   []*area // its areas, if there are at most fewAreas
	many  int     // the number of its areas, if they once were more than fewAreas
	out   bool    // few are left out (watch_behind.go)

	// Used by the caller of Next.
	revisions []uint64
	todo      []*change
	at        int    // of todo
	upTo      uint64 // pos when all of todo was looked at
	ready     []result
	given     int // of ready
	reported  uint64
	current   uint64 // revision
	visit     func(*area)
	change    *change // the change that found is of, some of which are not judged yet; nil: none
	found     []*area
	judged    int // of found
	boxes     []feature.Box
}

// Next waits for the next event. Events come in the order of revisions; of one write,
// features leave areas before they enter others. An error of the context leaves the
// watcher as it is, and so does that of a filter, which names area and feature: the
// event that it might have been is lost, and the next Next continues after that. Any
// other error ends the watcher: ErrLagged, if what comes next is forgotten; ErrClosed,
// with the store, the collection (then ErrUnknownCollection, too) or Close.
func (w *Watcher) Next(ctx context.Context) (Event, error) {
	for {
		if err := ctx.Err(); err != nil {
			return Event{}, err
		}
		if e, ok, err := w.Try(); ok || err != nil {
			return e, err
		}
		w.Wait(ctx)
	}
}

// Wait waits until Try may report something, or ctx ends. It is for the caller of Next,
// or Try.
func (w *Watcher) Wait(ctx context.Context) {
	select {
	case <-w.wake:
	case <-ctx.Done():
	}
}

// Try is Next that does not wait: not ok if there is no event yet, and then Revision is
// up to date. It looks at up to 16,384 changes at once.
func (w *Watcher) Try() (e Event, ok bool, err error) { return w.TryIn(nil) }

// TryIn is Try in steps of up to a millisecond, whatever filters and areas take; nil:
// in one. An error of Steps.Pause changes nothing: the next call continues.
func (w *Watcher) TryIn(s *feature.Steps) (e Event, ok bool, err error) {
	for {
		if w.change != nil {
			if err := w.judge(s); err != nil {
				return Event{}, false, err
			}
		}
		if r := w.pop(); r != nil {
			return r.Event, true, r.err
		}
		if w.at < len(w.todo) {
			c := w.todo[w.at]
			w.at++
			w.meet(c)
			continue
		}
		w.pos.Store(max(w.pos.Load(), w.upTo))
		if pos := w.pos.Load(); pos-w.reported >= progressEvery {
			w.reported = pos
			return Event{Kind: query.Progress, Revision: pos, Resume: pos}, true, nil
		}
		idle, err := w.fill()
		if err != nil {
			return Event{}, false, err
		}
		if idle && w.pos.Load()-w.reported < progressEvery {
			return Event{}, false, nil
		}
	}
}

// Revision is the revision up to which Next has given all events.
func (w *Watcher) Revision() uint64 { return w.pos.Load() }

// pop takes the next result, nil if there is none.
func (w *Watcher) pop() *result {
	for w.given < len(w.ready) {
		r := &w.ready[w.given]
		w.given++
		if w.given == len(w.ready) {
			w.pos.Store(r.Revision)
		} else {
			r.Resume--
		}
		if r.area.gone.Load() {
			continue
		}
		w.reported = r.Resume
		return r
	}
	clear(w.ready)
	w.ready, w.given = w.ready[:0], 0
	return nil
}

// candidate is called for each area that a change may concern.
func (w *Watcher) candidate(a *area) {
	if a.seen != w.current && w.current > a.from {
		a.seen = w.current
		w.found = append(w.found, a)
	}
}

// meet finds the areas that a change may concern.
func (w *Watcher) meet(c *change) {
	if c.collection != w.c.num {
		return
	}
	switch c.kind {
	case disk.Drop:
		w.end(w.c.errDropped())
		return
	case disk.Alter:
		if !c.texts {
			w.end(w.c.errSwapped())
		}
		return
	}
	w.mu.Lock()
	w.boxes = c.boxes(w.boxes[:0])
	w.current = c.revision
	w.areas.visit(w.boxes, w.visit)
	w.mu.Unlock()
	if len(w.found) > 0 {
		w.change, w.judged = c, 0
	}
}

// areaUnits of feature.Steps.Took are what an area without a filter takes: 1 us.
const areaUnits = 10

// judge finds what a change means for the areas found. The error is of s.
func (w *Watcher) judge(s *feature.Steps) error {
	for ; w.judged < len(w.found); w.judged++ {
		if s != nil {
			if err := s.Took(areaUnits); err != nil {
				return err
			}
		}
		r := w.change.event(w.found[w.judged], s)
		if r.err != nil && s != nil && errors.Is(r.err, s.Err()) {
			return s.Err()
		}
		if r.Kind != query.Progress || r.err != nil {
			w.ready = append(w.ready, r)
		}
	}
	clear(w.found)
	w.found, w.change = w.found[:0], nil
	if len(w.ready) > 1 {
		slices.SortFunc(w.ready, compareResults)
	}
	return nil
}

// fill finds the next changes to look at. It is idle if there are none, until wake.
func (w *Watcher) fill() (idle bool, err error) {
	if !w.started {
		w.mu.Lock()
		w.started = true
		w.mu.Unlock()
	}
	h := w.h
	clear(w.todo)
	w.todo, w.at = w.todo[:0], 0
	h.mu.Lock()
	live, pos := w.live, w.pos.Load()
	if err = w.err; err != nil {
		h.mu.Unlock()
		return false, err
	}
	w.revisions, w.queue = w.queue, w.revisions[:0]
	if w.upTo = w.scan; live {
		w.upTo = h.done
	}
	if len(w.revisions) == 0 && max(pos, w.upTo) >= h.done {
		w.live = true
		h.findAgain(w)
	}
	h.mu.Unlock()

	for len(w.revisions) > 0 && w.revisions[0] <= pos {
		w.revisions = w.revisions[1:]
	}
	if len(w.revisions) > 0 {
		var missed uint64
		if w.todo, missed = h.ring.pick(w.todo, w.revisions); missed > 0 {
			w.upTo = missed - 1
			h.mu.Lock()
			w.live, w.scan, w.queue = false, missed-1, w.queue[:0]
			h.leaveOut(w)
			h.mu.Unlock()
		}
		return false, nil
	}
	if live {
		w.pos.Store(max(pos, w.upTo))
		return true, nil
	}
	return false, w.look(max(pos, w.upTo) + 1)
}

// look takes the changes from a revision on out of the ring or the log.
func (w *Watcher) look(from uint64) (err error) {
	var first uint64
	w.upTo = from - 1
	if w.todo, first, _ = w.h.ring.scan(w.todo, from, scanChanges); from < first {
		err = w.read(from, first)
	} else if n := len(w.todo); n > 0 {
		w.upTo = w.todo[n-1].revision
	}
	if err != nil {
		w.end(err)
	}
	return err
}

const (
	// scanChanges is how many changes are taken at once, and scanBytes how many bytes
	// of the log, so that a watcher whose caller is slow holds neither files nor much
	// memory, and many entries share the cost of beginning to read the log.
	scanChanges = 256
	scanBytes   = 1 << 20
)

// read takes some changes out of the log, before revision end.
func (w *Watcher) read(from, end uint64) (err error) {
	if w.c.st.o.Dir == "" {
		return lagged(trimmed(from, end))
	}
	l, err := w.c.st.db.Log(from)
	if err != nil {
		return lagged(err)
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	now := w.c.st.now()
	for n, bytes := 0, 0; n < scanChanges && bytes < scanBytes && w.upTo+1 < end && l.Next(); n++ {
		e := l.Entry()
		if e.Collection == w.c.num {
			c, err := changeOf(&e, now, feature.Parse)
			if err != nil {
				return err
			}
			w.todo = append(w.todo, c)
		}
		w.upTo = e.Revision
		bytes += len(e.Key) + len(e.Value) + len(e.Old)
	}
	if err := l.Err(); err != nil {
		return err
	}
	if w.upTo < from {
		return fmt.Errorf("%w: the log ends before revision %d, which was written", ErrCorrupt, from)
	}
	return nil
}
