package rstar

import (
	"math"
	"slices"
	"testing"
	"unsafe"
)

// Searches of the explorer (explore_test.go) that cache copies of internal
// nodes and validate them (validate.go).

// visitCached adds to o how a search can continue that uses a copy of the
// node, any that could be read until begin. Children that the copy names are
// read from begin on; the line at any time from then on.
//
// (A node that another search read and cached after begin shows the same as a read by
// the search itself.)
func (x *explorer) visitCached(o *outcome, at ref, moves uint64, begin int) {
	for _, s := range x.sightsOf(&x.reader, at.chunk) {
		if s.from > begin {
			continue
		}
		_, refs, v := x.reader.look(x.c, s, at, math.MaxUint64, x.q) // of any M
		if v != nodeOK {
			continue
		}
		named := &outcome{begin, map[uint64][]ending{}}
		for _, r := range refs {
			named.and(x.visit(r, moves, begin))
		}
		if named.end == never {
			continue
		}
		copied := Node{nodeBytes(s.words), int(at.level), s.words.count()}
		for _, p := range x.c.nodeLines(at.chunk)[0] {
			if p.until < begin && mutant != oldLines {
				continue
			}
			x.looks++
			seen := max(begin, p.from)
			switch copied.Validate(nodeBytes(p.words[:]), moves) {
			case nil:
				p := *named
				p.and(x.leaf(nil, seen))
				o.or(&p)
			case ErrChanged:
				x.repair(o, named, refs, at, moves, seen)
			}
		}
	}
}

// repair adds how a search can continue that found at time seen that the node
// has changed since it was copied.
func (x *explorer) repair(o, named *outcome, refs []ref, at ref, moves uint64, seen int) {
	for _, s := range x.sightsOf(&x.reader, at.chunk) {
		if s.until < seen {
			continue
		}
		_, now, v := x.reader.look(x.c, s, at, moves, x.q)
		if v != nodeOK {
			continue
		}
		read := Node{nodeBytes(s.words), int(at.level), s.words.count()}
		if mutant != keepsStrays && slices.ContainsFunc(refs, func(r ref) bool {
			return !read.Names(uint64(r.chunk))
		}) {
			continue
		}
		p := *named
		p.and(x.leaf(nil, max(seen, s.from)))
		for _, r := range now {
			if !slices.Contains(refs, r) {
				p.and(x.visit(r, moves, max(seen, s.from)))
			}
		}
		o.or(&p)
	}
}

// visitFirstLines adds how a search can continue that reads only the first lines of a
// leaf and finds that they rule all objects out.
func (x *explorer) visitFirstLines(o *outcome, at ref, moves uint64, begin int) {
	whole := x.c.tree.NodeBytes()
	k := sightKey{"first lines", at.chunk}
	ss, ok := x.sights[k]
	if !ok {
		var all bool
		ss, all = lineSights(x.c.nodeLines(at.chunk)[:HeadBytes(whole)/LineBytes])
		x.cut = x.cut || !all
		x.sights[k] = ss
	}
	for _, s := range ss {
		if s.until < begin {
			continue
		}
		x.looks++
		if none, err := Misses(nodeBytes(s.words), whole, at.chunk, moves, x.q); none && err == nil {
			o.or(x.leaf(nil, max(begin, s.from)))
		}
	}
}

// nodeBytes are the bytes of words that a reader of another process sees.
func nodeBytes(words []uint64) []byte {
	// SAFETY: bytes of words, which no goroutine writes any more.
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)
}

// TestExploreValidating checks all claims of validate.go about copies.
func TestExploreValidating(t *testing.T) {
	both := []reader{remoteReader, validatingReader}
	for _, by := range strategies {
		for i := range scripts {
			if i == reinserts && by != Original {
				continue
			}
			t.Run(by.String()+"/"+scripts[i].name, func(t *testing.T) {
				setup, ws := scripts[i].find(t, by, 1)
				c, err := record(explorerTree(t, by), setup, func() {}, ws)
				if err != nil {
					t.Fatal(err)
				}
				mustExploreBy(t, c, both)
			})
		}
	}
	var sum report
	for seed := range uint64(4 * *seeds) {
		rep := mustExploreBy(t, randomTrace(t, seed), both)
		sum.searches += rep.searches
		sum.looks += rep.looks
	}
	t.Logf("random histories: %d searches, %d nodes and lines read", sum.searches, sum.looks)
}
