package replica

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var walks = flag.Int("walks", 400, "how many random walks TestWalk makes")

// TestWalk makes random moves in groups of three and five members, with more of
// everything than can be searched to the end.
func TestWalk(t *testing.T) {
	for seed := range uint64(*walks) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := limits{nodes: 3 + 2*r.IntN(2), level: Level(r.IntN(2)), writes: 4, attempts: 3, crashes: 4, losses: 4,
			moves: 3, failures: 2, reads: 20, late: 3, terms: 12, versions: 30, slow: Set(r.IntN(1 << maxNodes)), trims: r.IntN(2) == 0,
			split: r.IntN(2) == 0, clean: r.IntN(2) == 0, lease: 1 + r.IntN(3)}
		l.grace, l.min = l.lease+r.IntN(2), 1+r.IntN(2)
		for id := range ID(l.nodes) {
			if id == 0 || r.IntN(3) > 0 {
				l.inSync = l.inSync.With(id)
			}
		}
		l.min = min(l.min, l.inSync.Len())
		w := begin(l.with())
		var path []move
		for range 400 {
			var can []move
			w.forEach(func(mv move) { can = append(can, mv) })
			mv := can[r.IntN(len(can))]
			if mv.kind <= tick && r.IntN(2) == 0 {
				continue // time passes slowly, so that more happens within a lease
			}
			path = append(path, mv)
			w.apply(mv)
			w.prune()
			w.judge()
			if w.wrong != nil {
				t.Fatalf("seed %d: %v", seed, &found{wrong: w.wrong, path: path})
			}
		}
		if err := w.recovers(); err != nil {
			t.Fatalf("seed %d: %v", seed, &found{wrong: err, path: path})
		}
	}
}
