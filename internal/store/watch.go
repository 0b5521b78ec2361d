package store

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/catfish-index/catfish/internal/store/disk"
)

// Watching
//
// The log has all writes, and each entry has the feature before and after. An event is
// a function of one entry and one area, and of nothing else: so a watcher has no state
// but its areas and a revision, and a client that knows the revision can continue from
// it, in another process, too.
//
//	commit queue --> ring: the last changes, one for each revision, shared by all
//	                   |                                  |
//	                   |  in the order of revisions       |  sequentially
//	                   v                                  v
//	                  hub --revisions--> queue of a    scan by a watcher that is not live
//	                  (boxes only)       live watcher     ^
//	                                                      |  before what the ring has
//	                                                     log
//
// The commit leader appends the changes that it has committed and published to the
// ring, and waits for no watcher. When the ring is full it forgets the oldest changes.
//
// The hub, one goroutine, holds the boxes of all areas in a tree. For each change it
// finds the watchers with an area that the feature's box meets, before or after, and
// queues the revision for them. Filters and exact shapes are left to the watchers, in
// the goroutine that calls Next: one whose filter takes long delays no write and no
// other watcher, and in steps (TryIn) it lets others have the processor.
//
// # No change is left out, and none comes twice
//
// Let pos be the revision up to which a watcher has looked at all changes. It only
// grows, and what is at or below it is never looked at again: none comes twice. Let
// done be that of the hub. Both, and the queue, are changed under hub.mu. The watcher
// is in one of two states.
//
//	live    what is above pos, up to done, and could matter, is in the queue
//	behind  the same up to scan, a revision; what is above that is not, and the
//	        watcher scans all changes itself, from the ring or the log
//
// It begins behind, with scan = pos = WatchOptions.From. The steps:
//
//   - promote, if behind and pos >= done: it becomes live. Nothing is between pos and
//     done; the hub queues what is above done.
//   - demote, if the queue is full, or the ring has forgotten changes that the hub has
//     not seen: it is behind with scan = done. Up to done the queue is right.
//   - demote, if the ring has forgotten a revision r of the queue: it is behind with
//     scan = r-1, and the queue is emptied.
//   - live, the queue is empty: pos becomes done.
//
// The hub does not look for watchers that are behind, if they have few areas
// (watch_behind.go). They are in its tree again when they become live, by the same
// lock.
//
// Each step keeps what the states say. A scan takes revisions one by one, and both ring
// and log have all from the first to the last that they have, so it leaves none out; it
// continues where the ring ends, and reads the log only up to where the ring begins:
// all that is published. If neither has the next one, the watcher ends with ErrLagged.
//
// # Without watchers
//
// The ring is off, and costs a write one load. For the first watcher the commit leader
// turns it on, between two writes; from then on writes keep the old values. In a store
// with a data directory, whose log always has the old values, the ring is turned off
// after the last watcher. Without a directory, it is turned off when it has forgotten
// all changes up to the end of the last watcher, since until then that watcher may
// resume.

// WatchOptions say where a watcher begins.
type WatchOptions struct {
	// From is the revision after which events are wanted: Event.Resume of the last
	// one that was taken. 0: from now on.
	From uint64
	// History is Watcher.History of the watcher that gave From; 0: not known. Only
	// History shows that From is of a directory that was replaced since.
	History uint64
}

// progressEvery is after how many revisions without an event Next reports its progress.
// A client that resumes looks at no more than twice these again: a quarter of what the
// ring keeps by default.
const progressEvery = 8192

// Watch returns a watcher without areas. It ends with ctx. disk.ErrTrimmed: the
// log, or the ring of a store without a data directory, begins after From.
// disk.ErrAhead: From is of another store, of one that was restored since, or of writes
// that a crash took away. ErrWatchLimit: there are too many.
//
// Events are of writes, not of the features that exist already. To follow the features
// of an area: Watch, Add, Search, and then Next; events that the search has seen
// already come again.
func (c *Collection) Watch(ctx context.Context, o WatchOptions) (*Watcher, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("store: watch %q: %w", c.Name(), err)
	}
	h := &c.st.hub
	w := &Watcher{c: c, h: h, wake: make(chan struct{}, 1), names: map[string]*area{}, filters: map[conditions]*sharedFilter{}}
	w.areas.init()
	w.visit = w.candidate
	if err := h.register(w); err != nil {
		return nil, err
	}
	err := h.turnOn(ctx)
	if err == nil {
		err = w.begin(o)
	}
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("store: watch %q: %w", c.Name(), err)
	}
	w.stop = context.AfterFunc(ctx, func() { w.end(ctx.Err()) })
	return w, nil
}

// begin makes the watcher begin after a revision.
func (w *Watcher) begin(o WatchOptions) error {
	from := o.From
	first, last := w.h.ring.kept()
	switch mine := w.History(); {
	case w.c.dropped.Load(): // If not, the drop's change comes after last.
		return w.c.errDropped()
	case from == 0:
		from = last
	case o.History != 0 && o.History != mine:
		return fmt.Errorf("%w: revision %d is of another store, or of this one before it was restored from a backup; search again",
			disk.ErrAhead, from)
	case from > last:
		return fmt.Errorf("%w: revision %d is above the last one, %d: it is of another store, or of this one before it was restored"+
			" from a backup, or lost its last writes; search again", disk.ErrAhead, from, last)
	case from < w.c.changed.Load():
		return fmt.Errorf("%w: revision %d, the collection has been %q since %d", disk.ErrTrimmed, from, w.c.Name(), w.c.changed.Load())
	case from+1 < first:
		if w.c.st.o.Dir != "" {
			var err error
			if first, err = w.c.st.db.First(); err != nil {
				return err
			}
		}
		if from+1 < first {
			return trimmed(from+1, first)
		}
	}
	w.start, w.reported, w.scan = from, from, from
	w.pos.Store(from)
	return nil
}

// History is that of the store (Store.History).
func (w *Watcher) History() uint64 { return w.c.st.History() }

func trimmed(revision, first uint64) error {
	return fmt.Errorf("%w: revision %d, the first one kept is %d", disk.ErrTrimmed, revision, first)
}

// WatchArea yields the events of one area, as Next gives them, until an error, such as
// that of ctx, which is yielded last.
func (c *Collection) WatchArea(ctx context.Context, q Query, from uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		w, err := c.Watch(ctx, WatchOptions{From: from})
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer w.Close()
		if err = w.Add("", q); err != nil {
			yield(Event{}, err)
			return
		}
		for {
			e, err := w.Next(ctx)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// errDropped ends the watchers of a collection.
func (c *Collection) errDropped() error {
	return fmt.Errorf("%w: %w: %q was dropped", ErrClosed, ErrUnknownCollection, c.Name())
}

// lagged wraps disk.ErrTrimmed as ErrLagged: the watcher was too slow.
func lagged(err error) error {
	if errors.Is(err, disk.ErrTrimmed) {
		return fmt.Errorf("%w: %w", ErrLagged, err)
	}
	return err
}
