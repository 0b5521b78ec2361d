package rhkv

import "math/rand/v2"

// conventional is cuckoo hashing as RHKV compares with it: two tables of one item a bucket. An
// insertion kicks items at random as it goes, and after maxKicks of them, an "endless loop", all
// items are hashed again, by other functions, into the same buckets. Reads must wait for that;
// so no server has this table. internal/cuckoo has the same walk, for readers that do not wait.
type conventional struct {
	log2  uint
	items [2][]item
	seeds [2]uint64
	rng   rand.PCG
	n     int

	kicks, rehashes, moved uint64 // moved: items that were hashed again
}

type item struct{ hash, ref uint64 } // ref 0: none

const maxKicks = 500

func newConventional(log2 uint, seed uint64) *conventional {
	t := &conventional{log2: log2}
	t.rng.Seed(seed, 1)
	for i := range t.items {
		t.items[i], t.seeds[i] = make([]item, 1<<log2), t.rng.Uint64()
	}
	return t
}

// at is the bucket of a hash in a table.
func (t *conventional) at(table int, hash uint64) *item {
	h := (hash ^ t.seeds[table]) * 0x9E3779B97F4A7C15
	h = (h ^ h>>32) * 0x94D049BB133111EB
	return &t.items[table][h>>(64-t.log2)]
}

func (t *conventional) find(hash uint64) uint64 {
	for i := range t.items {
		if p := t.at(i, hash); p.ref != 0 && p.hash == hash {
			return p.ref
		}
	}
	return 0
}

func (t *conventional) insert(hash, ref uint64) {
	t.n++
	left := t.walk(item{hash, ref})
	for left.ref != 0 {
		left = t.rehash(left)
	}
}

// walk places an item. It returns the one that is left over after maxKicks.
func (t *conventional) walk(x item) item {
	for i := range t.items {
		if p := t.at(i, x.hash); p.ref == 0 {
			*p = x
			return item{}
		}
	}
	table := int(t.rng.Uint64() >> 63)
	for range maxKicks {
		p := t.at(table, x.hash)
		if p.ref == 0 {
			*p = x
			return item{}
		}
		x, *p = *p, x
		t.kicks++
		table = 1 - table
	}
	return x
}

// rehash hashes all items again, and x. It returns the one that is left over.
func (t *conventional) rehash(x item) item {
	t.rehashes++
	all := make([]item, 0, t.n)
	all = append(all, x)
	for i := range t.items {
		for _, y := range t.items[i] {
			if y.ref != 0 {
				all = append(all, y)
			}
		}
		clear(t.items[i])
		t.seeds[i] = t.rng.Uint64()
	}
	for i, y := range all {
		t.moved++
		if left := t.walk(y); left.ref != 0 {
			// The rest is put anywhere: the next rehash takes all of them.
			return t.stuff(left, all[i+1:])
		}
	}
	return item{}
}

// stuff puts items into any vacant buckets, and returns the one that is left over.
func (t *conventional) stuff(left item, rest []item) item {
	next := 0
	for i := range t.items {
		for j := range t.items[i] {
			if next == len(rest) {
				return left
			}
			if p := &t.items[i][j]; p.ref == 0 {
				*p = rest[next]
				next++
			}
		}
	}
	return left
}
