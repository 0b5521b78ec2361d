package rstar

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRanks: every path counts the lesser keys, for any number of keys and
// whatever follows them.
func TestRanks(t *testing.T) {
	eachScan(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		var keys, got, want [sortSpace]int32
		for n := 1; n <= maxFanout+1; n++ {
			for i := range keys {
				keys[i] = r.Int32()<<placeBits | int32(i)
			}
			rankKeys(&keys, n, &got)
			ranksPlain(&keys, n, &want)
			if !slices.Equal(got[:n], want[:n]) {
				t.Fatalf("%d keys: ranks %v, want %v", n, got[:n], want[:n])
			}
		}
	})
}

// TestOrders: entries are ordered by borders, then opposite borders, then
// ids, and the sweep has the MBRs of all first and last ones.
func TestOrders(t *testing.T) {
	eachScan(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, sp := range spaces {
			for n := 1; n <= maxFanout+1; n += 1 + n/8 {
				es := make([]entry, n)
				for i := range es {
					// Ids that repeat now and then, in no order.
					id := r.Uint64N(2 * maxFanout)
					es[i] = entry{rect: sp.rect(r), ref: uint64(i), lo: id, hi: id}
				}
				checkOrders(t, sp.name, es)
			}
		}
	})
}

func checkOrders(t *testing.T, name string, es []entry) {
	t.Helper()
	var s sortScratch
	if world := s.begin(es, new(sweep)); world != mbrOf(es) {
		t.Fatalf("%s: MBR %v, want %v", name, world, mbrOf(es))
	}
	for o := range order(4) {
		var w sweep
		s.by(es, o, &w.perm)
		w.run(&s.corners, len(es))
		var got []entry
		for _, i := range w.perm[:len(es)] {
			got = append(got, es[i])
		}
		want := slices.Clone(es)
		slices.SortFunc(want, func(a, b entry) int {
			return cmp.Or(cmp.Compare(borderOf(&a.rect, o), borderOf(&b.rect, o)),
				cmp.Compare(borderOf(&a.rect, o^1), borderOf(&b.rect, o^1)),
				compareIDs(&a, &b))
		})
		if !slices.Equal(got, want) {
			t.Fatalf("%s, order %d: %v, want %v", name, o, got, want)
		}
		for k := 1; k < len(es); k++ {
			if a, b := w.sides(k); a != mbrOf(want[:k]) || b != mbrOf(want[k:]) {
				t.Fatalf("%s, order %d: after %d of %d, MBRs %v and %v", name, o, k, len(es), a, b)
			}
		}
	}
}
