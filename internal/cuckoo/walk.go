package cuckoo

import "math/rand/v2"

// Conventional cuckoo hashing, to compare: a random walk, which kicks a random item of
// a full bucket to its other bucket, and repeats this there, until there is a vacancy
// or MaxKicks were made. The latter is counted as an endless loop.
//
// The usual walk kicks as it goes, so that an item is nowhere at times. Here readers
// must find every item at every instant. So the walk is made first and the items move
// afterwards, from its end. Where it comes to a bucket again the usual walk would kick
// the item that it put there before. With one item a bucket that brings it back to the
// beginning and on by the other bucket; here such a walk begins again at one of the
// two, and its kicks count.

type walk struct {
	t    *table
	rng  rand.PCG
	path []spot
}

func newWalk(t *table) *walk {
	w := &walk{t: t}
	w.rng.Seed(t.o.Seed, 1)
	return w
}

func (w *walk) added(uint64)   {}
func (w *walk) removed(uint64) {}
func (w *walk) reset()         {}

// place implements rule.
func (w *walk) place(hash, ref uint64) bool {
	t := w.t
	for side := range uint(2) {
		v := t.vertex(hash, side)
		if i := t.vacant(v); i >= 0 {
			t.put(spot{v, i}, hash, ref)
			return true
		}
	}
	w.path = w.path[:0]
	var at uint64
	for range t.o.MaxKicks {
		r := w.rng.Uint64()
		if len(w.path) == 0 {
			at = t.vertex(hash, uint(r>>63))
		}
		s := spot{at, int(r >> 32 % t.items)}
		w.path = append(w.path, s)
		at = t.other(at, t.hashAt(s))
		t.own(at)
		if i := t.vacant(at); i >= 0 {
			w.path = append(w.path, spot{at, i})
			t.kick(w.path, hash, ref)
			return true
		}
		for _, p := range w.path {
			if p.vertex == at {
				w.path = w.path[:0]
				break
			}
		}
	}
	t.stats.Loops++
	return false
}
