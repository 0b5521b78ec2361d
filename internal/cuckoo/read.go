package cuckoo

import (
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/catfish-index/catfish/internal/prefetch"
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

// Prefetch implements Index.
func (t *table) Prefetch(hash uint64) {
	h := t.head.Load()
	for side := range uint(2) {
		prefetch.Lines(unsafe.Pointer(t.at(h.Bucket(hash, side))), 1)
		if h.growing() {
			prefetch.Lines(unsafe.Pointer(t.at(h.OldBucket(hash, side))), 1)
		}
	}
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

// look is one attempt (publish.go, "Local readers"). It fails if a line was changed
// meanwhile, or if h is old.
func (t *table) look(h *Header, dst []uint64, from int, hash uint64) ([]uint64, bool) {
	p := [2]*Line{t.at(h.Bucket(hash, 0)), t.at(h.Bucket(hash, 1))}
	generation := [2]uint8{h.Generation, h.Generation}
	// Ask for the lines before anything depends on one of them, so that they
	// are fetched at the same time.
	atomic.LoadUint64(&p[0][0])
	atomic.LoadUint64(&p[1][0])
	if h.growing() {
		old := [2]*Line{t.at(h.OldBucket(hash, 0)), t.at(h.OldBucket(hash, 1))}
		atomic.LoadUint64(&old[0][0])
		atomic.LoadUint64(&old[1][0])
		for side, q := range old {
			// Once set this mark stays, so it needs no version.
			if t.meta(q)&metaMoved == 0 {
				p[side], generation[side] = q, h.Generation-1
			}
		}
	}
	a, okA := t.glance(p[0], generation[0])
	b, okB := t.glance(p[1], generation[1])
	if !okA || !okB {
		return dst, false
	}
	// One loop over the places equal in either bucket: nearly always one iteration,
	// which the processor predicts, as it could not predict the bucket.
	for m := matches(&a, &b, signatureOf(hash)); m != 0; m &= m - 1 {
		side, place := match(m)
		if r := atomic.LoadUint64(&p[side][laneRef+place]); r != 0 && !slices.Contains(dst[from:], r) {
			dst = append(dst, r)
		}
	}
	if a.meta&metaStashed != 0 {
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
	return dst, atomic.LoadUint64(&p[0][0]) == a.version && atomic.LoadUint64(&p[1][0]) == b.version
}

func (t *table) meta(p *Line) uint64 {
	if t.onLoad != nil {
		t.onLoad()
	}
	return atomic.LoadUint64(&p[laneMeta])
}

// glimpse holds the lanes of a bucket that a lookup needs unless a signature is equal:
// the version and two others, which are not known to belong together before the version
// has been compared with the one after them.
type glimpse struct{ version, sigs, meta uint64 }

// glance takes a glimpse; ok is false if a writer is changing the line, or if it
// is no bucket of this generation.
func (t *table) glance(p *Line, generation uint8) (g glimpse, ok bool) {
	if t.onLoad != nil {
		t.onLoad()
	}
	g = glimpse{
		version: atomic.LoadUint64(&p[0]),
		sigs:    atomic.LoadUint64(&p[laneSigs]),
		meta:    atomic.LoadUint64(&p[laneMeta]),
	}
	if t.onLoad != nil {
		t.onLoad()
	}
	return g, g.version&1 == 0 && uint8(g.meta>>metaGenShift) == generation && g.meta&metaMoved == 0
}

// matches has a bit for each place of two buckets whose signature is equal:
// bit 16*i of place i of the first, the next bit of the second; bits 2 and 3
// are of place 4.
func matches(a, b *glimpse, sig uint16) uint64 {
	return equalLanes(a.sigs, sig)>>15 | equalLanes(b.sigs, sig)>>14 |
		isZero(uint16(a.meta)^sig)<<2 | isZero(uint16(b.meta)^sig)<<3
}

// match is the side and the place of the lowest bit.
func match(m uint64) (side, place int) {
	bit := bits.TrailingZeros64(m)
	return bit & 1, bit>>4 | bit<<1&4
}

// equalLanes has the top bit of each lane of 16 bits that equals sig, and no
// other: adding 0x7FFF to the lower 15 bits of a difference sets the top bit
// unless they are 0, without a carry (Warren, Hacker's Delight, 6-1).
func equalLanes(sigs uint64, sig uint16) uint64 {
	const ones, low = 0x0001000100010001, 0x7FFF7FFF7FFF7FFF
	x := sigs ^ uint64(sig)*ones
	return ^((x&low + low) | x | low)
}

// isZero is 1 for 0.
func isZero(x uint16) uint64 { return (uint64(x) - 1) >> 63 }
