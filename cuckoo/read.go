package cuckoo

import (
	"runtime"
	"sync/atomic"
)

// load copies a line; ok is false if a writer was changing it.
func (t *table) load(p *Line) (l Line, ok bool) {
	if t.onLoad != nil {
		t.onLoad()
	}
	l[0] = atomic.LoadUint64(&p[0])
	for i := 1; i < lanes; i++ {
		l[i] = atomic.LoadUint64(&p[i])
	}
	if t.onLoad != nil {
		t.onLoad()
	}
	return l, l[0]&1 == 0 && atomic.LoadUint64(&p[0]) == l[0]
}

// Lookup implements Index.
func (t *table) Lookup(dst []uint64, hash uint64) []uint64 {
	from := len(dst)
	for try := 1; ; try++ {
		var ok bool
		if dst, ok = t.look(t.head.Load(), dst, from, hash); ok {
			return dst
		}
		dst = dst[:from]
		if try%8 == 0 {
			runtime.Gosched() // the writer may need this processor
		}
	}
}

// look is one attempt (publish.go, "Local readers"). It fails if a line was
// changed meanwhile, or if h is old.
func (t *table) look(h *Header, dst []uint64, from int, hash uint64) ([]uint64, bool) {
	p := [2]*Line{t.at(h.Bucket(hash, 0)), t.at(h.Bucket(hash, 1))}
	// Ask for the lines before anything depends on one of them, so that they
	// are fetched at the same time.
	atomic.LoadUint64(&p[0][0])
	atomic.LoadUint64(&p[1][0])
	var old [2]*Line
	if h.growing() {
		old = [2]*Line{t.at(h.OldBucket(hash, 0)), t.at(h.OldBucket(hash, 1))}
		atomic.LoadUint64(&old[0][0])
		atomic.LoadUint64(&old[1][0])
	}
	var version [2]uint64
	stashed := false
	for side := range p {
		generation := h.Generation
		var l Line
		ok := false
		if h.growing() {
			if l, ok = t.load(old[side]); !ok {
				return dst, false
			}
			if !l.Moved() {
				p[side], generation = old[side], generation-1
			}
		}
		if generation == h.Generation {
			if l, ok = t.load(p[side]); !ok {
				return dst, false
			}
		}
		if l.Generation() != generation || l.Moved() {
			return dst, false
		}
		version[side] = l[0]
		stashed = stashed || side == 0 && l.Stashed()
		dst = l.AppendCandidates(dst, from, hash)
	}
	if stashed {
		for i := range uint64(StashLines) {
			l, ok := t.load(t.at(stashOffset + i*LineBytes))
			if !ok {
				return dst, false
			}
			dst = l.AppendCandidates(dst, from, hash)
		}
	}
	if t.onLoad != nil {
		t.onLoad()
	}
	if mutant == unconfirmed {
		return dst, true
	}
	return dst, atomic.LoadUint64(&p[0][0]) == version[0] && atomic.LoadUint64(&p[1][0]) == version[1]
}
