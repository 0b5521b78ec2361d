package replica

import (
	"flag"
	"os"
	"runtime/debug"
	"sync"
	"testing"
	"time"
)

// maxStates bounds the memory of a search, 100 bytes a state.
const maxStates = 20_000_000

var long = flag.Bool("long", false, "explore the large worlds, too")

var two, all = SetOf(0, 1), SetOf(0, 1, 2)

// small is a world.
type small struct {
	name string
	long bool // only with -long
	limits
}

// worlds. A term and a version more than at the start are a promotion or a hand-over; a
// version is a removal or an addition. Terms begin with 2, versions too.
var worlds = []small{
	{"two", false, limits{nodes: 2, inSync: two, writes: 1, attempts: 1, terms: 3, versions: 4}},
	{"twoCrash", false, limits{nodes: 2, inSync: two, writes: 1, attempts: 1, crashes: 1, terms: 3, versions: 4}},
	{"twoWrites", true, limits{nodes: 2, inSync: two, writes: 2, attempts: 2, terms: 3, versions: 3}},
	{"twoThrice", true, limits{nodes: 2, inSync: two, writes: 3, attempts: 2, losses: 1, terms: 3, versions: 3}},
	{"twoLonger", true, limits{nodes: 2, inSync: two, writes: 1, attempts: 1, crashes: 1, terms: 3, versions: 4, lease: 2, grace: 2}},
	{"twoTerms", true, limits{nodes: 2, inSync: two, writes: 2, attempts: 1, crashes: 1, terms: 4, versions: 5}},
	{"syncs", true, limits{nodes: 2, inSync: two, writes: 1, attempts: 1, crashes: 1, terms: 3, versions: 3, slow: two}},
	{"durable", true, limits{nodes: 2, inSync: two, level: Durable, writes: 1, attempts: 1, crashes: 2, terms: 3, versions: 3, slow: two}},
	{"doubt", true, limits{nodes: 2, inSync: two, writes: 2, attempts: 1, crashes: 1, terms: 3, versions: 3, slow: two, split: true, still: SetOf(0)}},
	{"clean", false, limits{nodes: 2, inSync: two, writes: 1, attempts: 1, crashes: 1, terms: 3, versions: 3, slow: two, clean: true, still: SetOf(0)}},
	{"cleanTwice", false, limits{nodes: 2, inSync: two, writes: 1, attempts: 1, crashes: 2, terms: 2, versions: 2, slow: SetOf(1), clean: true, still: SetOf(0)}},
	{"reader", false, limits{nodes: 2, inSync: two, writes: 1, attempts: 1, reads: 1, terms: 3, versions: 3}},
	{"readerCrash", true, limits{nodes: 2, inSync: two, writes: 1, attempts: 1, reads: 1, crashes: 1, terms: 3, versions: 4}},
	{"readerBack", true, limits{nodes: 2, inSync: two, writes: 1, attempts: 1, reads: 1, terms: 4, versions: 5}},
	{"loss", false, limits{nodes: 2, inSync: two, writes: 2, attempts: 1, losses: 1, terms: 2, versions: 3}},
	{"lossUndo", false, limits{nodes: 2, inSync: two, level: Durable, writes: 2, attempts: 1, losses: 1, terms: 3, versions: 3, still: SetOf(0)}},
	{"fails", false, limits{nodes: 2, inSync: two, writes: 1, attempts: 1, failures: 1, terms: 3, versions: 3}},
	{"handOver", true, limits{nodes: 2, inSync: two, writes: 1, attempts: 1, moves: 1, crashes: 1, terms: 3, versions: 3}},
	{"handOverSync", true, limits{nodes: 2, inSync: two, writes: 1, attempts: 1, moves: 1, crashes: 1, terms: 3, versions: 3, slow: two}},
	{"handOverLearner", true, limits{nodes: 2, inSync: SetOf(0), writes: 1, attempts: 1, moves: 1, terms: 3, versions: 4}},
	{"late", true, limits{nodes: 2, inSync: two, writes: 1, attempts: 1, late: 1, terms: 3, versions: 4}},
	{"learner", false, limits{nodes: 2, inSync: SetOf(0), writes: 1, attempts: 1, terms: 3, versions: 4, lease: 2, grace: 2}},
	{"trim", true, limits{nodes: 2, inSync: SetOf(0), writes: 2, attempts: 1, terms: 3, versions: 4, trims: true}},
	{"min", false, limits{nodes: 2, inSync: two, min: 2, writes: 1, attempts: 2, terms: 3, versions: 4}},
	{"undo", true, limits{nodes: 2, inSync: two, writes: 1, attempts: 2, terms: 4, versions: 5}},
	{"undoDurable", false, limits{nodes: 2, inSync: two, level: Durable, writes: 1, attempts: 1, terms: 3, versions: 4, slow: two}},
	{"three", true, limits{nodes: 3, inSync: all, min: 2, writes: 1, attempts: 1, terms: 3, versions: 3, prompt: SetOf(2)}},
	{"threeOld", false, limits{nodes: 3, inSync: all, min: 2, writes: 3, attempts: 1, terms: 3, versions: 3, prompt: SetOf(1), still: SetOf(0, 2)}},
	{"threeMoved", false, limits{nodes: 3, inSync: two, level: Durable, writes: 1, attempts: 1, moves: 1, terms: 3, versions: 4, split: true, still: all}},
	{"threeDoubt", true, limits{nodes: 3, inSync: all, writes: 2, attempts: 1, crashes: 1, terms: 3, versions: 3, slow: SetOf(2), split: true, prompt: SetOf(0), still: SetOf(0, 2)}},
	{"threeLearner", true, limits{nodes: 3, inSync: two, writes: 1, attempts: 1, terms: 3, versions: 4, prompt: SetOf(2)}},
	{"threeWrites", true, limits{nodes: 3, inSync: all, min: 2, writes: 3, attempts: 1, terms: 3, versions: 3, prompt: SetOf(2)}},
	{"threeCrash", true, limits{nodes: 3, inSync: all, min: 2, writes: 1, attempts: 1, crashes: 1, terms: 3, versions: 4, prompt: SetOf(2)}},
	{"threeTerms", true, limits{nodes: 3, inSync: all, writes: 1, attempts: 2, terms: 4, versions: 4, prompt: SetOf(2)}},
	{"threeAll", true, limits{nodes: 3, inSync: all, min: 2, writes: 1, attempts: 1, terms: 3, versions: 3}},
}

// with fills in what most worlds have.
func (l limits) with() *limits {
	if l.lease == 0 {
		l.lease, l.grace = 1, 1
	}
	l.min = max(l.min, 1)
	return &l
}

// TestMain lets the heap grow: what searches throw away is much more than what they keep.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// TestExplore: nothing wrong happens in any order of what may happen in small worlds,
// and from wherever it leads a group recovers.
func TestExplore(t *testing.T) {
	var mu sync.Mutex
	var made [kinds]int
	t.Run("worlds", func(t *testing.T) {
		for _, s := range worlds {
			if s.long && !*long {
				continue
			}
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				f := search(s.with(), maxStates, 500, true)
				t.Logf("%d states, %d moves, %d pending, %d settled, %v",
					f.states, f.moves, f.pending, f.settled, time.Since(began).Round(time.Millisecond))
				if f.wrong != nil {
					t.Fatalf("\n%s", f)
				}
				if f.cut {
					t.Errorf("there are more than %d states", f.states)
				}
				mu.Lock()
				defer mu.Unlock()
				for k, n := range f.made {
					made[k] += n
				}
			})
		}
	})
	for k, n := range made {
		if n == 0 && *long {
			t.Errorf("no world has a move %q", kindNames[k])
		}
	}
}
