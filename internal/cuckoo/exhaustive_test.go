package cuckoo

import (
	"flag"
	"slices"
	"testing"
)

var every = flag.Int("every", 4, "TestExhaustive makes the sequences of one assignment in so many")

// TestExhaustive makes all sequences of inserts and deletes in which each of six keys
// is inserted once and deleted once, in two tables of four buckets with one item each,
// for every assignment of bucket pairs to keys up to symmetry: the order of keys, of
// the buckets of each table, and of the tables make no difference. It visits each state
// once: the graph does not depend on the way to a state, so states differ by places, by
// which keys are done, and by the numbers of the union-find.
//
// One assignment in four is enough to notice most mistakes in seconds; make test-long
// runs all.
//
// Left out: keys that are inserted again, and assignments that use the fifth
// bucket and more, which six keys cannot connect.
func TestExhaustive(t *testing.T) {
	graphs, states := 0, 0
	seen := map[string]bool{}
	var pairs [6]int
	var choose func(k, from int)
	choose = func(k, from int) {
		if k < len(pairs) {
			for p := from; p < 16; p++ {
				pairs[k] = p
				choose(k+1, p)
			}
			return
		}
		if c := canonical(pairs); !seen[c] {
			seen[c] = true
			graphs++
			// Every graph from the empty state is many sequences.
			if graphs%*every == 0 {
				states += exhaust(t, pairs)
			}
		}
	}
	choose(0, 0)
	t.Logf("%d assignments, %d states", graphs, states)
	if graphs < 100 || states < 10_000 {
		t.Error("too few")
	}
}

// canonical is the same for assignments that differ by symmetry: the least of
// all 2*4!*4! names of the graph.
func canonical(pairs [6]int) string {
	best := ""
	for _, a := range permutations {
		for _, b := range permutations {
			for swap := range 2 {
				var q [6]byte
				for i, p := range pairs {
					x, y := a[p/4], b[p%4]
					if swap == 1 {
						x, y = y, x
					}
					q[i] = byte('a' + x*4 + y)
				}
				slices.Sort(q[:])
				if s := string(q[:]); best == "" || s < best {
					best = s
				}
			}
		}
	}
	return best
}

var permutations = func() (all [][4]int) {
	for i := range 256 {
		p := [4]int{i & 3, i >> 2 & 3, i >> 4 & 3, i >> 6}
		if p[0] != p[1] && p[0] != p[2] && p[0] != p[3] && p[1] != p[2] && p[1] != p[3] && p[2] != p[3] {
			all = append(all, p)
		}
	}
	return all
}()

// exhaust visits all states of one assignment.
func exhaust(t *testing.T, pairs [6]int) int {
	x, err := New(GCuckoo, aligned(8<<10), Options{Items: 1, Buckets: 4, MaxLoad: 1})
	if err != nil {
		t.Fatal(err)
	}
	tab := x.(*table)
	f := tab.rule.(*forest)
	tab.mem = tab.mem[:tab.end] // no growth
	var hashes [6]uint64
	for i, p := range pairs {
		hashes[i] = key(uint64(p/4), uint64(p%4), uint64(i))
	}
	seen := map[string]bool{}
	var name []byte
	var visit func(in, out int)
	visit = func(in, out int) { // sets of keys inserted, and of these deleted
		name = append(name[:0], byte(in), byte(out))
		for v := range tab.vertices() {
			n := f.nodes[v]
			name = append(name, byte(tab.line(v)[laneRef]), byte(n.parent), byte(n.vertices), byte(n.edges), byte(n.deleted))
		}
		for i := range StashItems {
			if r := tab.stashRef(i); r != 0 {
				name = append(name, byte(i), byte(r))
			}
		}
		if seen[string(name)] {
			return
		}
		seen[string(name)] = true
		checkExhaustive(t, tab, hashes[:], in&^out)
		saved, nodes := slices.Clone(tab.mem[:tab.end]), slices.Clone(f.nodes)
		stats, stash := tab.stats, tab.stashHashes
		table := slices.Clone(tab.hashes)
		for i, h := range hashes {
			nextIn, nextOut := in|1<<i, out
			if in&^out>>i&1 != 0 {
				err, nextOut = tab.Delete(h, uint64(i+1)), out|1<<i
			} else if in>>i&1 == 0 {
				err = tab.Insert(h, uint64(i+1))
			} else {
				continue
			}
			if err != nil {
				t.Fatalf("%v, key %d: %v", pairs, i, err)
			}
			visit(nextIn, nextOut)
			copy(tab.mem, saved)
			copy(f.nodes, nodes)
			copy(tab.hashes, table)
			tab.stats, tab.stashHashes = stats, stash
		}
	}
	visit(0, 0)
	return len(seen)
}

// checkExhaustive compares lookups with the keys that the table must hold, and checks
// that a key is in the stash only if it has no room.
func checkExhaustive(t *testing.T, tab *table, hashes []uint64, there int) {
	var buf [16]uint64
	for i, h := range hashes {
		got := tab.Lookup(buf[:0], h)
		if slices.Contains(got, uint64(i+1)) != (there>>i&1 != 0) {
			t.Fatalf("key %d: %v, there: %b", i, got, there)
		}
	}
	n := 0
	for i := range hashes {
		n += there >> i & 1
	}
	if tab.Len() != n {
		t.Fatalf("%d items, want %d", tab.Len(), n)
	}
}

// TestForestExact: without deletions an item goes to the stash exactly if its
// component is full, which is so if its items are more than its buckets.
func TestForestExact(t *testing.T) {
	for seed := range uint64(300) {
		r := newRand(seed)
		x, err := New(GCuckoo, aligned(64<<10), Options{Items: 1, Buckets: 16, MaxLoad: 1})
		if err != nil {
			t.Fatal(err)
		}
		tab := x.(*table)
		tab.mem = tab.mem[:tab.end]
		// Plain components, by labels.
		label, edges := make([]int, 32), make([]int, 32)
		for i := range label {
			label[i] = i
		}
		for n := range uint64(30) {
			p, q := r.Uint64N(16), r.Uint64N(16)
			a, b := label[p], label[16+q]
			size, e := 0, edges[a]
			if a != b {
				e += edges[b]
			}
			for _, l := range label {
				if l == a || l == b {
					size++
				}
			}
			before := tab.stats
			if err := tab.Insert(key(p, q, n), n+1); err != nil {
				t.Fatal(err)
			}
			if room, took := e < size, tab.stats.Stash == before.Stash; room != took {
				t.Fatalf("seed %d, item %d: %d items in %d buckets, inserted: %v", seed, n, e, size, took)
			} else if !room {
				if tab.stats.Kicks != before.Kicks {
					t.Fatal("kicked without room")
				}
				continue
			}
			for i, l := range label {
				if l == b {
					label[i] = a
				}
			}
			edges[a] = e + 1
		}
		if s := tab.Stats(); s.Disagreed != 0 || s.CaseA+s.CaseB+s.CaseC1+s.CaseC2+s.CaseC3 != 30 {
			t.Fatalf("%+v", s)
		}
	}
}

// TestDisagreement: a tree and a cycle that a deletion has separated.
func TestDisagreement(t *testing.T) {
	x, err := New(GCuckoo, aligned(8<<10), Options{Items: 1, Buckets: 4, MaxLoad: 1})
	if err != nil {
		t.Fatal(err)
	}
	pairs := [][2]uint64{{0, 0}, {0, 0}, {1, 0}, {1, 1}}
	for i, p := range pairs {
		if err := x.Insert(key(p[0], p[1], uint64(i)), uint64(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	// Now (0, 0) twice is a full component of its own.
	if err := x.Delete(key(1, 0, 2), 3); err != nil {
		t.Fatal(err)
	}
	for n := range uint64(2) {
		if err := x.Insert(key(0, 0, 10+n), 11+n); err != nil {
			t.Fatal(err)
		}
	}
	s := x.Stats()
	if s.Stash != 2 || s.Disagreed != 1 || s.Rebuilt != 1 || s.CaseC3 != 1 {
		t.Errorf("%+v", s)
	}
	for _, h := range []uint64{key(0, 0, 10), key(1, 1, 3)} {
		if got := x.Lookup(nil, h); len(got) == 0 {
			t.Errorf("%#x is gone", h)
		}
	}
	if s.Items != 5 {
		t.Errorf("%d items", s.Items)
	}
}
