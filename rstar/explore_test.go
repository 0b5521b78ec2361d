package rstar

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The explorer: every interleaving of a writer's stores with the reads of
// searches, on small trees, over the real code. The writer is a Tree that
// records each 8-byte store (Tree.onStore); readers are ParseHeader, ViewNode
// and AppendHits, or open, unchanged and the scans of search.go. Only the
// times at which they read are modelled.
//
// # Time
//
// Time is the number of stores done. The slab is a function of it, and a line has few
// contents, in order. A read of a node by RDMA gets each line as it was at some
// instant, lines in any order:
//
//	time     0                                                   end
//	line 0   |===== v =====|.. v+1 ..................|==== v+2 ====|
//	line 1   |======= v =======|.. v+1 .........|====== v+2 =======|
//	line 2   |============ v (untouched) ==========|===== v+2 =====|
//	                      ^ until                    ^ from
//
// ViewNode accepts only bytes that have one even version in all lines. So a result of a
// read, a sight, is a choice of one content of each line, all of one version. A read
// that begins at time b can end with a sight if each of its lines is available at b or
// later, b <= until; its end is at max(b, from) or later. Under the protocol a version
// has one sight, and under a broken one as many as there are choices.
//
// # Searches
//
// A search knows a header, read before it began: any content that the header
// had until then. It reads the root, then children, each after the read of
// its parent ended, siblings in any order or at once. The result of a node's
// read depends on the others only by when it may begin. So the possible
// endings of a search are found bottom up (visit), node by node, for all
// objects at once: for each object at which places it was found, and the
// earliest end.
//
// A torn read is read again: a later read, which is explored anyway. A restart drops
// all objects found and begins again, later: the caller is then promised less than for
// a search that begins where the restart does, and all begins are explored.
//
// A local search takes its header when it begins and reads siblings in order; the
// explorer allows it, too, to read them in any order.
//
// # What need not be explored
//
//   - Later ends. A search's promises are about what was so during all of
//     it; they are strongest for the shortest. A search that satisfies them
//     with an end satisfies them with a later one. The same holds for the
//     end of a read, after which the children's reads may begin: what can be
//     read from time b on includes what can be read from a later time on.
//   - Most begins. Let b be a time and c the next one at which a sight or a
//     header begins or ceases to exist, or a write begins or ends. What a
//     search finds from b on it also finds from c on, equally early except
//     for ends before c, and nothing happens between such an end and c. At c
//     the promises are stronger.
//   - Pairs of objects. The promises are per object.
//
// TestExploreLosesNothing checks the first two against searches that read at
// random times.
//
// # Promises
//
// explore_judge_test.go says what a search must show, alone and after all others that
// ended before it began: complete, sound, current, and one register per object for all
// readers together. In addition, no reader may end with an error, and once a write has
// returned a search that begins with the present header must be able to end.
//
// A reader that trusts old copies breaks the promises
// (TestExploreTrustingACache), and so does omitting any other rule of
// publish.go (TestMutants).

// bothReaders read according to the protocol.
var bothReaders = []reader{remoteReader, localReader}

// mustExplore explores c, and requires that nothing was left out.
func mustExplore(t *testing.T, c *trace, err error) report {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return mustExploreBy(t, c, bothReaders)
}

func mustExploreBy(t *testing.T, c *trace, readers []reader) report {
	t.Helper()
	rep, err := explore(c, readers, c.rects())
	if err != nil {
		t.Fatal(err)
	}
	if rep.wrong != nil {
		t.Fatalf("\n%v", rep.wrong)
	}
	if rep.cut {
		t.Fatal("some contents of nodes were not explored")
	}
	return rep
}

// TestExplore explores each kind of change.
func TestExplore(t *testing.T) {
	for _, by := range strategies {
		for i := range scripts {
			if i == reinserts && by != Original {
				continue
			}
			t.Run(by.String()+"/"+scripts[i].name, func(t *testing.T) {
				setup, ws := scripts[i].find(t, by, 1)
				c, err := record(explorerTree(t, by), setup, func() {}, ws)
				rep := mustExplore(t, c, err)
				t.Logf("%d objects, %d writes, %d stores: %d searches, %d nodes read",
					len(c.states[0]), len(ws), c.end, rep.searches, rep.looks)
			})
		}
	}
}

// TestExploreRandom explores a few consecutive writes of random histories.
func TestExploreRandom(t *testing.T) {
	var sum report
	stores := 0
	for seed := range uint64(32 * *seeds) {
		c := randomTrace(t, seed)
		rep := mustExplore(t, c, nil)
		stores += c.end
		sum.searches += rep.searches
		sum.looks += rep.looks
	}
	t.Logf("%d stores: %d searches, %d nodes read", stores, sum.searches, sum.looks)
}

// randomTrace records one to eight consecutive writes.
func randomTrace(t *testing.T, seed uint64) *trace {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	n, most := 1+r.IntN(8), twoLevels
	if seed%8 == 7 {
		most = threeLevels
	}
	all := most + r.IntN(4*most)
	by := strategies[seed/8%2]
	ws := drawWrites(t, r, by, most, func(effect) bool {
		all--
		return all == 0
	})
	c, err := record(explorerTree(t, by), ws[:len(ws)-n], func() {}, ws[len(ws)-n:])
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestExploreTrustingACache: a reader that caches internal nodes and does not
// check whether they have changed loses objects, however fresh its M. Stamps
// show what changed after M; they cannot show what changed before.
func TestExploreTrustingACache(t *testing.T) {
	setup, ws := scripts[splitsALeaf].find(t, Revised, 1)
	c, err := record(explorerTree(t, Revised), setup, func() {}, ws)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := explore(c, []reader{cachingReader}, c.rects())
	if err != nil {
		t.Fatal(err)
	}
	if rep.wrong == nil || rep.wrong.broken || rep.wrong.stuck {
		t.Fatalf("no object was lost: %v", rep.wrong)
	}
	t.Logf("\n%v", rep.wrong)
}

// TestExploreLosesNothing: the explorer finds all results of searches that read lines
// at random times, for the time at which they begin and for the next one that it
// explores.
func TestExploreLosesNothing(t *testing.T) {
	ended := 0
	for seed := range uint64(40 / raceFactor) {
		c := randomTrace(t, seed)
		a := newAtlas(c)
		hs, err := c.headers()
		if err != nil {
			t.Fatal(err)
		}
		x := &explorer{atlas: a, reader: remoteReader, q: plane, memo: map[visitKey]*outcome{}}
		times := a.times([]reader{remoteReader}, hs)
		r := rand.New(rand.NewPCG(seed, 3))
		for range 200 {
			w := randomWalk{c: c, r: r, q: plane, h: hs[r.IntN(len(hs))]}
			begin := w.h.from + r.IntN(min(c.end-w.h.from, 60)+1)
			if !w.visit(w.h.root, begin) {
				continue
			}
			ended++
			i, _ := slices.BinarySearch(times, begin)
			for _, b := range []int{begin, times[i]} {
				o := x.visit(w.h.root, w.h.moves, b)
				for id, f := range w.finds(a) {
					if !slices.ContainsFunc(o.of(id), func(v ending) bool {
						return v.finds == f && v.end <= max(w.end, b)
					}) {
						t.Fatalf("seed %d: a search from %d to %d finds object %d %s; the explorer knows from %d %v",
							seed, begin, w.end, id, a.show(f), b, o.of(id))
					}
				}
			}
		}
	}
	if ended < 2000/raceFactor {
		t.Fatalf("only %d searches ended: the test shows little", ended)
	}
}
