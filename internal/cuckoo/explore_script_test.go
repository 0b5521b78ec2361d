package cuckoo_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/catfish-index/catfish/internal/cuckoo"
)

// The explorer: one reader beside one writer, on tables of a few lines, over the real
// code. The writer is an Index whose stores are recorded; time is the number of stores
// done, and every line has a few contents, in order. Remote readers are explored in
// explore_remote_test.go, local ones in explore_local_test.go. The promises to a
// reader, for one key:
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

// history is the history of a key's references. Times are numbers of stores.
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

// insert, remove and replace write a key.
func (s *script) insert(k *history) {
	begin := s.now()
	s.refs++
	if err := s.index.Insert(k.hash, s.refs); err != nil {
		s.tell("insert %#x: %v", k.hash, err) // a full table
		return
	}
	s.tell("inserted %#x -> %d", k.hash, s.refs)
	k.spans = append(k.spans, span{
		ref: s.refs, begin: begin, from: s.now(), until: never, end: never, byInsert: true,
	})
}

func (s *script) remove(t *testing.T, k *history) {
	begin, l := s.now(), k.last()
	if err := s.index.Delete(k.hash, l.ref); err != nil {
		t.Fatal(err)
	}
	s.tell("deleted %#x -> %d", k.hash, l.ref)
	l.until, l.end, l.byLast = begin, s.now(), true
}

func (s *script) replace(t *testing.T, k *history) {
	begin, l := s.now(), k.last()
	s.refs++
	if err := s.index.Replace(k.hash, l.ref, s.refs); err != nil {
		t.Fatal(err)
	}
	s.tell("replaced %#x -> %d, was %d", k.hash, s.refs, l.ref)
	l.until, l.end = begin, s.now()
	k.spans = append(k.spans, span{ref: s.refs, begin: begin, from: s.now(), until: never, end: never})
}

// step makes a random write.
func (s *script) step(t *testing.T) {
	k := s.keys[s.rng.IntN(len(s.keys))]
	switch op := s.rng.IntN(8); {
	case op == 0:
		s.tell("advance")
		s.index.Advance(1)
	case !k.alive():
		s.insert(k)
	case op < 4:
		s.remove(t, k)
	case op < 6:
		s.replace(t, k)
	}
}

// makeScript makes an empty script.
func makeScript(t *testing.T, kind cuckoo.Kind, o cuckoo.Options, hashes ...uint64) *script {
	s := &script{}
	var err error
	if s.index, err = cuckoo.New(kind, cuckoo.Aligned(16<<10), o); err != nil {
		t.Fatal(err)
	}
	for _, h := range hashes {
		s.keys = append(s.keys, &history{hash: h})
	}
	cuckoo.OnStore(s.index, func(offset, value uint64) {
		s.stores = append(s.stores, store{offset, value})
	})
	return s
}

// begin: readers may begin now, time 0.
func (s *script) begin() {
	for _, k := range s.keys {
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
}

// kickScript kicks an item from the second table to the first, and so from
// the bucket that a local lookup reads last to the one that it reads first.
func kickScript(t *testing.T) *script {
	s := makeScript(t, cuckoo.GCuckoo, cuckoo.Options{Items: 1, Buckets: 4, MaxLoad: 1},
		cuckoo.Key(0, 0, 1), cuckoo.Key(0, 0, 2), cuckoo.Key(1, 0, 3), cuckoo.Key(1, 0, 4))
	s.insert(s.keys[0])
	s.insert(s.keys[1])
	s.remove(t, s.keys[0])
	s.insert(s.keys[2])
	s.begin()
	s.insert(s.keys[3])
	cuckoo.OnStore(s.index, nil)
	return s
}

// stashScript grows a table while items of one hash are in its stash, which
// stay there.
func stashScript(t *testing.T) *script {
	h := cuckoo.Key(0, 1, 0)
	s := makeScript(t, cuckoo.GCuckoo, cuckoo.Options{Items: 1, Buckets: 2, MaxLoad: 0.6}, h, h, h, h, cuckoo.Key(1, 0, 5))
	for _, k := range s.keys[:4] {
		s.insert(k)
	}
	s.begin()
	s.insert(s.keys[4])
	s.index.Advance(4)
	cuckoo.OnStore(s.index, nil)
	return s
}

// newScript makes a script of a table with few buckets, which keys share. It ends with
// the write that reaches the number of stores.
func newScript(t *testing.T, seed uint64, stores int) *script {
	switch seed {
	case 0:
		return kickScript(t)
	case remoteScripts - 1: // too long for local lookups
		return stashScript(t)
	}
	rng := rand.New(rand.NewPCG(seed, 99))
	items := 1 + rng.IntN(2)
	kind := cuckoo.GCuckoo
	if rng.IntN(4) == 0 {
		kind = cuckoo.Conventional
	}
	var hashes []uint64
	for n := range uint64(4 + 4*items) {
		h := cuckoo.Key(rng.Uint64N(4), rng.Uint64N(4), n)
		if n == 1 || n > 0 && seed%4 == 1 {
			h = hashes[0] // keys of one hash
		}
		hashes = append(hashes, h)
	}
	s := makeScript(t, kind, cuckoo.Options{
		Items: items, Buckets: 2, MaxLoad: []float64{0.6, 1}[rng.IntN(2)], Seed: seed, MaxKicks: 20,
	}, hashes...)
	s.rng = rng
	for range rng.IntN(14) {
		s.step(t)
	}
	s.begin()
	for s.now() < stores && len(s.told) < 40 {
		s.step(t)
	}
	cuckoo.OnStore(s.index, nil)
	return s
}

// judge returns what is wrong with a lookup of key k that began and ended at these
// times. found is 0 if it found nothing.
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

// chooser enumerates all sequences of choices, one per run.
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
