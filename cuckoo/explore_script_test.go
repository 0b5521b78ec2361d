package cuckoo_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/catfish-index/catfish/cuckoo"
)

// The explorer: one reader beside one writer, on tables of a few lines, over
// the real code. The writer is an Index whose stores are recorded; time is the
// number of stores done, and every line has a few contents, one after the
// other. Remote readers are explored in explore_remote_test.go, local ones in
// explore_local_test.go. What a reader is promised, for one key:
//
//   - a reference that it finds was the key's at some moment of the lookup;
//   - it finds one if the key had one during all of the lookup;
//   - it ends, if nothing is written.

// script is a random sequence of writes. The first are done before readers
// begin.
type script struct {
	index  cuckoo.Index
	before []byte // the slab when readers may begin
	stores []store
	keys   []*history
	refs   uint64
	rng    *rand.Rand
	told   []string
}

type store struct{ offset, value uint64 }

// history is what was so of a key. Times are numbers of stores.
type history struct {
	hash  uint64
	spans []span
}

// span: a reference was the key's surely from and until, but perhaps from
// begin and until end, while the writes were under way.
type span struct {
	ref              uint64
	begin, from      int
	until, end       int
	byInsert, byLast bool // the span begins with an insert, ends with a delete
}

const never = 1 << 30

func (s *script) now() int { return len(s.stores) }

func (s *script) tell(format string, a ...any) {
	s.told = append(s.told, fmt.Sprintf("%d: ", s.now())+fmt.Sprintf(format, a...))
}

func (k *history) alive() bool {
	return len(k.spans) > 0 && k.spans[len(k.spans)-1].end == never
}

func (k *history) last() *span { return &k.spans[len(k.spans)-1] }

// step makes a random write.
func (s *script) step(t *testing.T, buckets uint64) {
	k := s.keys[s.rng.IntN(len(s.keys))]
	begin := s.now()
	s.refs++
	var err error
	switch op := s.rng.IntN(8); {
	case op == 0:
		s.tell("advance")
		s.index.Advance(1)
		return
	case !k.alive():
		if err = s.index.Insert(k.hash, s.refs); err != nil {
			s.tell("insert %#x: %v", k.hash, err)
			return // a full table
		}
		s.tell("inserted %#x -> %d", k.hash, s.refs)
		k.spans = append(k.spans, span{
			ref: s.refs, begin: begin, from: s.now(),
			until: never, end: never, byInsert: true,
		})
	case op < 4:
		l := k.last()
		if err = s.index.Delete(k.hash, l.ref); err != nil {
			t.Fatal(err)
		}
		s.tell("deleted %#x -> %d", k.hash, l.ref)
		l.until, l.end, l.byLast = begin, s.now(), true
	case op < 6:
		l := k.last()
		if err = s.index.Replace(k.hash, l.ref, s.refs); err != nil {
			t.Fatal(err)
		}
		s.tell("replaced %#x -> %d, was %d", k.hash, s.refs, l.ref)
		l.until, l.end = begin, s.now()
		k.spans = append(k.spans, span{ref: s.refs, begin: begin, from: s.now(), until: never, end: never})
	}
}

// newScript makes a script of a table with few buckets, which keys share. It
// ends with the write that makes the number of stores.
func newScript(t *testing.T, seed uint64, stores int) *script {
	s := &script{rng: rand.New(rand.NewPCG(seed, 99))}
	items := 1 + s.rng.IntN(2)
	kind := cuckoo.GCuckoo
	if s.rng.IntN(4) == 0 {
		kind = cuckoo.Conventional
	}
	load := []float64{0.6, 1}[s.rng.IntN(2)]
	var err error
	s.index, err = cuckoo.New(kind, cuckoo.Aligned(16<<10), cuckoo.Options{
		Items: items, Buckets: 2, MaxLoad: load, Seed: seed, MaxKicks: 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint64(4 + 4*items) {
		h := cuckoo.Key(s.rng.Uint64N(4), s.rng.Uint64N(4), n)
		if n == 1 {
			h = s.keys[0].hash // two keys of one hash
		}
		s.keys = append(s.keys, &history{hash: h})
	}
	cuckoo.OnStore(s.index, func(offset, value uint64) {
		s.stores = append(s.stores, store{offset, value})
	})
	for range s.rng.IntN(14) {
		s.step(t, 4)
	}
	for _, k := range s.keys { // time begins here
		for i := range k.spans {
			sp := &k.spans[i]
			for _, at := range []*int{&sp.begin, &sp.from, &sp.until, &sp.end} {
				if *at != never {
					*at = 0
				}
			}
			if sp.end == 0 {
				sp.begin, sp.from, sp.until, sp.end = -1, -1, -1, -1
			}
		}
	}
	s.stores = s.stores[:0]
	s.before = append([]byte(nil), cuckoo.Slab(s.index)...)
	s.told = append(s.told, "readers may begin")
	for s.now() < stores && len(s.told) < 40 {
		s.step(t, 4)
	}
	cuckoo.OnStore(s.index, nil)
	return s
}

// judge says what is wrong with a lookup of key k that began and ended then.
// found is 0 if it found nothing.
func (k *history) judge(found uint64, begin, end int) string {
	if found != 0 {
		for _, sp := range k.spans {
			if sp.ref == found && sp.begin <= end && sp.end >= begin {
				return ""
			}
		}
		return fmt.Sprintf("found %d", found)
	}
	// Spans that a replace joins leave no moment without a reference.
	at := begin
	for i := range k.spans {
		sp := &k.spans[i]
		from, until := sp.from, sp.until
		if !sp.byInsert {
			from = sp.begin
		}
		if !sp.byLast && sp.end != never {
			until = sp.end
		}
		if from <= at && until >= at {
			at = max(at, until)
		}
	}
	if at >= end && at > begin || at >= end && k.steady(begin) {
		return "found nothing"
	}
	return ""
}

// steady reports whether the key surely had a reference at one time.
func (k *history) steady(at int) bool {
	for _, sp := range k.spans {
		if sp.from <= at && at <= sp.until {
			return true
		}
	}
	return false
}

func (k *history) holds(ref uint64) bool {
	for _, sp := range k.spans {
		if sp.ref == ref {
			return true
		}
	}
	return false
}

// piece is one content of a line, from a time on until before another.
type piece struct {
	from, until int
	line        [cuckoo.LineBytes]byte
}

// pieces is the history of the line at an offset.
func (s *script) pieces(offset uint64) []piece {
	var p piece
	if offset < uint64(len(s.before)) {
		copy(p.line[:], s.before[offset:])
	}
	ps := []piece{p}
	for i, st := range s.stores {
		if st.offset/cuckoo.LineBytes*cuckoo.LineBytes != offset {
			continue
		}
		last := &ps[len(ps)-1]
		next := *last
		last.until, next.from = i+1, i+1
		binary.LittleEndian.PutUint64(next.line[st.offset%cuckoo.LineBytes:], st.value)
		ps = append(ps, next)
	}
	ps[len(ps)-1].until = never
	return ps
}

// chooser enumerates all sequences of choices, one run after the other.
type chooser struct {
	picks, of []int
	at        int
}

func (c *chooser) pick(n int) int {
	if c.at == len(c.picks) {
		c.picks, c.of = append(c.picks, 0), append(c.of, n)
	}
	c.at++
	return c.picks[c.at-1]
}

// next goes to the next sequence, false if there is none.
func (c *chooser) next() bool {
	c.at = 0
	for n := len(c.picks); n > 0; n-- {
		if c.picks[n-1]++; c.picks[n-1] < c.of[n-1] {
			return true
		}
		c.picks, c.of = c.picks[:n-1], c.of[:n-1]
	}
	return false
}
