package cuckoo_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cuckoo"
)

// A local lookup runs over a copy of the slab. Before each line, between a line and its
// version, and before the lookup reads the buckets again, the writer may make any
// number of its stores, at two of these points in each lookup. Two are enough to change
// a line that was read and then one that will be; a lookup that fails for it begins
// again, and lookups that begin later are explored anyway.

const switches = 2

type localRun struct {
	s       *script
	replica cuckoo.Index
	slab    []byte
	c       *chooser
	now     int
	left    int // switches
	// relevant[i]: store i is to a line that the lookup may read. Others need
	// no switch of their own. Lookups that begin before them are promised less
	// than those that begin after them, and those that end after them less than
	// those that end before.
	relevant []bool
	hooks    int
}

func newLocalRun(s *script) *localRun {
	r := &localRun{s: s, slab: cuckoo.Aligned(16 << 10)}
	copy(r.slab, s.before)
	r.replica = cuckoo.Replica(r.slab, r.onLoad)
	return r
}

func (r *localRun) advance(n int) {
	for ; n > 0; n-- {
		st := r.s.stores[r.now]
		binary.LittleEndian.PutUint64(r.slab[st.offset:], st.value)
		r.now++
		if st.offset == 0 {
			cuckoo.NewHeader(r.replica)
		}
	}
}

func (r *localRun) onLoad() {
	if r.hooks > 500 {
		panic(fmt.Sprintf("%s\nlookup does not end at %d of %d", strings.Join(r.s.told, "\n"), r.now, r.s.now()))
	}
	if r.hooks++; r.hooks > 50 && r.now < r.s.now() {
		r.advance(1) // it waits for the writer
		return
	}
	if r.left == 0 || r.now == r.s.now() {
		return
	}
	var stops [200]int
	n := 0
	for i, relevant := range r.relevant[r.now:] {
		if relevant {
			n++
			stops[n] = i + 1
		}
	}
	if i := r.c.pick(n + 1); i > 0 {
		r.left--
		r.advance(stops[i])
	}
}

// run makes one lookup.
func (r *localRun) run(k *history, begin int) string {
	for _, st := range r.s.stores[:r.now] { // undo the run before
		clear(r.slab[st.offset : st.offset+8])
		if st.offset < uint64(len(r.s.before)) {
			copy(r.slab[st.offset:st.offset+8], r.s.before[st.offset:])
		}
	}
	r.now, r.left, r.hooks = 0, switches, 0
	cuckoo.NewHeader(r.replica)
	r.advance(begin)
	var buf [16]uint64
	found := uint64(0)
	for _, ref := range r.replica.Lookup(buf[:0], k.hash) {
		if k.holds(ref) {
			if found != 0 {
				// The old and the new one may both be found only if the reader saw two
				// states.
				return fmt.Sprintf("found %d and %d", found, ref)
			}
			found = ref
		}
	}
	return k.judge(found, begin, r.now)
}

// relevant reports which stores are to the header, the stash, and the buckets of the
// key in all tables that exist at any time.
func (s *script) relevant(k *history) []bool {
	lines := map[uint64]bool{}
	for _, p := range s.pieces(0) {
		if h, err := cuckoo.ParseHeader(p.line[:], 16<<10); err == nil {
			for side := range uint(2) {
				lines[h.Bucket(k.hash, side)] = true
				if h.Old != 0 {
					lines[h.OldBucket(k.hash, side)] = true
				}
			}
		}
	}
	r := make([]bool, len(s.stores))
	for i, st := range s.stores {
		r[i] = st.offset < 4096 || lines[st.offset/cuckoo.LineBytes*cuckoo.LineBytes]
	}
	return r
}

func exploreLocal(s *script) (wrong string, runs int) {
	r := newLocalRun(s)
	for _, k := range s.keys[:4] { // two of one hash, two others
		r.relevant = s.relevant(k)
		for begin := 0; begin <= s.now(); begin++ {
			if begin < s.now() && !r.relevant[begin] {
				continue
			}
			for c := (&chooser{}); ; {
				r.c = c
				bad := r.run(k, begin)
				if bad != "" {
					return fmt.Sprintf("%s\nlookup of %#x began %d, ended %d: %s\n%+v",
						strings.Join(s.told, "\n"), k.hash, begin, r.now, bad, k.spans), runs
				}
				runs++
				if !c.next() {
					break
				}
			}
		}
	}
	return "", runs
}

// Local lookups have many points at which to switch, so scripts are shorter.
const localScripts, localStores = 5, 8

// TestExploreLocal explores random scripts.
func TestExploreLocal(t *testing.T) {
	all, scripts := 0, uint64(localScripts)
	if testing.Short() {
		scripts = 1 // the kick; the race detector makes the others take minutes
	}
	for seed := range scripts {
		s := newScript(t, seed, localStores)
		wrong, runs := exploreLocal(s)
		if wrong != "" {
			t.Fatalf("script %d\n%s", seed, wrong)
		}
		all += runs
	}
	t.Logf("%d lookups", all)
}
