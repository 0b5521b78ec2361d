package datasets

import "github.com/catfish-index/catfish/rstar"

// Shuffle puts the items into a random order that depends on the seed alone
// (Fisher-Yates). The order of insertion determines the shape of an R*-tree
// that is built by single insertions.
func Shuffle(items []rstar.Item, seed uint64) {
	s := newStream(seed, purposeShuffle, 0)
	for i := len(items) - 1; i > 0; i-- {
		j := s.below(uint64(i) + 1)
		items[i], items[j] = items[j], items[i]
	}
}

// Sample reads the whole source and returns n of its items, or all if there are
// fewer, each equally likely to be chosen; the seed decides (reservoir
// sampling, Algorithm R: Vitter, ACM TOMS 1985). The order is not random:
// Shuffle it. On an error it returns the sample of the items before the error.
func Sample(src *Source, n int, seed uint64) ([]rstar.Item, error) {
	s := newStream(seed, purposeSample, 0)
	var kept []rstar.Item
	var seen uint64
	err := src.Items(func(it rstar.Item) bool {
		seen++
		if len(kept) < n {
			kept = append(kept, it)
		} else if j := s.below(seen); j < uint64(len(kept)) {
			kept[j] = it
		}
		return n > 0
	})
	return kept, err
}
