package store

import "errors"

// How a watcher is demoted, and how it ends.

// demote makes a live watcher scan all changes above a revision itself. hub.mu is held.
func (w *Watcher) demote(scan uint64) {
	if w.live {
		w.live, w.scan = false, scan
		w.h.toWake = append(w.h.toWake, w)
		w.h.demoted = append(w.h.demoted, w)
	}
}

func (w *Watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // It has a token.
	}
}

// Close ends the watcher. A Next that waits returns ErrClosed.
func (w *Watcher) Close() {
	if w.stop != nil {
		w.stop()
	}
	w.end(ErrClosed)
}

// end ends the watcher with an error, unless it has ended.
func (w *Watcher) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.h
	h.mu.Lock()
	if w.err == nil {
		if errors.Is(err, ErrLagged) && !errors.Is(err, ErrSwapped) {
			h.st.counters.lagged.Add(1)
		}
		of := h.watched[w.c.num]
		w.endLocked(err)
		h.forget(of, w)
	}
	h.mu.Unlock()
	clear(w.names)
	clear(w.filters)
	w.areas = areas{}
	w.areas.init()
}

// endLocked is end for a caller that holds hub.mu, except for the areas.
func (w *Watcher) endLocked(err error) {
	h := w.h
	w.err, w.live, w.queue, w.few = err, false, nil, nil
	w.signal()
	of := h.watched[w.c.num]
	if delete(of.watchers, w); len(of.watchers) == 0 {
		delete(h.watched, w.c.num)
	}
	_, last := h.ring.kept()
	h.left.Store(last)
	h.count.Add(-1)
}

// forget takes the areas of a watcher that has ended out of the tree of its
// collection, 0.1 s for 100,000, but lets others have the lock in between. w.mu and
// hub.mu are held.
func (h *hub) forget(of *watched, w *Watcher) {
	h.areas -= w.weight
	n := 0
	for _, a := range w.names {
		if h.watched[w.c.num] != of {
			return // All of them have ended.
		}
		of.areas.remove(a)
		if n++; n%hubBatch == 0 {
			h.mu.Unlock()
			h.mu.Lock()
		}
	}
}
