package store

import "slices"

// Watchers that are behind
//
// The hub looks for the areas of each change, and has nothing to queue for a watcher
// that is behind, which scans all changes itself. Thousands of clients that watch
// everything and read nothing would make each write cost the hub 40 us for nothing. So
// their areas are left out while they are behind:
//
//	live, or many areas    the hub's tree has them
//	behind, few areas      it has not, until the watcher is live again
//
// Many areas stay in the tree, behind or not: to take them out takes longer than to
// find some of them now and then.

// fewAreas of a watcher take 10 us to leave out, or to put back.
const fewAreas = 16

// find makes the hub find an area, unless its watcher is left out. hub.mu is held, here
// and below.
func (h *hub) find(a *area) {
	w := a.w
	if w.many == 0 && len(w.few) < fewAreas {
		w.few = append(w.few, a)
	} else {
		h.findAgain(w)
		w.many += 1 + len(w.few)
		w.few = nil
	}
	if !w.out {
		h.watched[w.c.num].areas.insert(a)
	}
}

// lose forgets an area of the watcher.
func (w *Watcher) lose(a *area) {
	if w.many > 0 {
		w.many--
		return
	}
	w.few = slices.DeleteFunc(w.few, func(b *area) bool { return a == b })
}

// demotedAtOnce is how many watchers are left out before others have the lock: up to
// 0.1 ms. 10,000 of them may be demoted at a time.
const demotedAtOnce = 8

// leaveOutSome leaves out some of the watchers demoted in the last batch, unless they
// have caught up since.
func (h *hub) leaveOutSome() {
	n := min(len(h.demoted), demotedAtOnce)
	for _, w := range h.demoted[:n] {
		h.leaveOut(w)
	}
	clear(h.demoted[:n])
	if h.demoted = h.demoted[n:]; len(h.demoted) == 0 {
		h.demoted = nil // It had room for all that were demoted.
	}
}

// leaveOut takes the areas of a watcher that is behind out of the hub's tree.
func (h *hub) leaveOut(w *Watcher) {
	if w.live || w.out || w.many > 0 || w.err != nil {
		return
	}
	w.out = true
	for _, a := range w.few {
		h.watched[w.c.num].areas.remove(a)
	}
}

// findAgain puts them back.
func (h *hub) findAgain(w *Watcher) {
	if !w.out {
		return
	}
	w.out = false
	for _, a := range w.few {
		h.watched[w.c.num].areas.insert(a)
	}
}
