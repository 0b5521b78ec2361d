package client

import (
	"sync"
	"testing"

	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/rstar"
)

// exactSet is a data set and the seeds of its queries; generated sets
// have other items for each seed.
type exactSet struct {
	name    string
	queries int // per seed
	groups  []exactGroup
}

type exactGroup struct {
	items []rstar.Item
	seeds []uint64
}

// exactSets are the data sets of tests, which share them and only read them: what is read
// of andorra.osm.pbf takes longer than most tests.
var exactSets = sync.OnceValue(func() []exactSet {
	every := make([]uint64, min(*exactSeeds, seeds))
	for i := range every {
		every[i] = uint64(i)
	}
	sets := []exactSet{
		{name: "california", queries: 12, groups: []exactGroup{{mustCollect(datasets.California()), every}}},
		{name: "andorra", queries: 5, groups: []exactGroup{{mustCollect(mustOpen("../../datasets/testdata/andorra.osm.pbf")), every}}},
		{name: "uniform", queries: 12}, {name: "rea02-like", queries: 12},
	}
	for _, seed := range every {
		sets[2].groups = append(sets[2].groups, exactGroup{mustCollect(datasets.Uniform(20_000, seed)), []uint64{seed}})
		sets[3].groups = append(sets[3].groups, exactGroup{mustCollect(datasets.Rea02Like(20_000, seed)), []uint64{seed}})
	}
	return sets
})

func mustOpen(spec string) *datasets.Source {
	s, err := datasets.Open(spec, datasets.Options{})
	if err != nil {
		panic(err)
	}
	return s
}

func mustCollect(s *datasets.Source) []rstar.Item {
	items, err := datasets.Collect(s)
	if err != nil {
		panic(err)
	}
	return items
}

// TestSetSizes: the oracles above are not vacuous.
func TestSetSizes(t *testing.T) {
	want := map[string]int{"california": 21_693, "andorra": 378_877, "uniform": 20_000, "rea02-like": 20_000}
	for _, d := range exactSets() {
		n := 0
		for _, g := range d.groups {
			if len(g.items) != want[d.name] {
				t.Errorf("%s: %d items, want %d", d.name, len(g.items), want[d.name])
			}
			n += len(g.seeds)
		}
		if n != min(*exactSeeds, seeds) {
			t.Errorf("%s: %d seeds, want %d", d.name, n, min(*exactSeeds, seeds))
		}
	}
}
