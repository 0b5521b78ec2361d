package peers

import (
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/catfish-index/catfish/rstar"
)

// stand holds the trees of one data set, built one way. Each is built on first
// use, and shared by all rows.
type stand struct {
	w     *workload
	build string
	peers []Peer // those that can be built this way; catfish first
	trees map[string]Index
	bytes map[string]int64 // memory of a tree, when built
	agree map[string]bool  // operations already compared
}

func newStand(w *workload, build string, peers []Peer) *stand {
	s := &stand{
		w: w, build: build, trees: map[string]Index{},
		bytes: map[string]int64{}, agree: map[string]bool{},
	}
	for _, p := range peers {
		if p.Builds(build) {
			s.peers = append(s.peers, p)
		}
	}
	return s
}

// tree returns a peer's tree.
func (s *stand) tree(p Peer) (Index, error) {
	if s.trees[p.Name] == nil {
		if err := s.fill(p, func() {}, func() {}); err != nil {
			return nil, err
		}
	}
	return s.trees[p.Name], nil
}

// fill builds a peer's tree again; only the time between start and stop
// counts.
func (s *stand) fill(p Peer, start, stop func()) error {
	if err := s.drop(p); err != nil {
		return err
	}
	before := memory()
	x, err := p.New(len(s.w.items))
	if err != nil {
		return err
	}
	put := x.Insert
	if s.build == "load" {
		put = x.Load
	}
	start()
	err = put(s.w.items)
	stop()
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	s.trees[p.Name] = x
	s.bytes[p.Name] = memory() - before + x.OutsideBytes()
	return nil
}

// drop closes a peer's tree, if there is one.
func (s *stand) drop(p Peer) error {
	x := s.trees[p.Name]
	delete(s.trees, p.Name)
	if x == nil {
		return nil
	}
	return x.Close()
}

func (s *stand) close() error {
	for _, p := range s.peers {
		if err := s.drop(p); err != nil {
			return err
		}
	}
	return nil
}

// memory is the memory in use on Go's heap and by malloc. It collects twice,
// as finalizers free in the second round; afterwards no collection is due
// soon.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) + mallocBytes()
}

// queries returns the queries of a scale, after all peers have given the
// same answers to a sample of them.
func (s *stand) queries(scale string) ([]rstar.Rect, error) {
	x, err := s.tree(s.peers[0])
	if err != nil {
		return nil, err
	}
	qs, err := s.w.at(scale, x.(*catfishIndex).t.Count)
	if err != nil || s.agree[scale] {
		return qs, err
	}
	s.agree[scale] = true
	var want []Answer
	for _, p := range s.peers {
		x, err := s.tree(p)
		if err != nil {
			return nil, err
		}
		got := answers(x.Search(qs))
		if want == nil {
			want = got
		}
		if err := sameAnswers(p.Name, qs, got, want); err != nil {
			return nil, err
		}
		if a, ok := x.(Appender); ok {
			if err := sameAnswers(p.Name+"-append", qs, answers(a.SearchAppend(qs)), want); err != nil {
				return nil, err
			}
		}
	}
	return qs, nil
}

// sampleQueries are compared one by one before timing: at scale 100-results
// they return some 51,000 objects.
const sampleQueries = 512

func answers(run func(lo, hi int) Answer) []Answer {
	as := make([]Answer, sampleQueries)
	for i := range as {
		as[i] = run(i, i+1)
	}
	return as
}

func sameAnswers(name string, qs []rstar.Rect, got, want []Answer) error {
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("query %d, %v: %s finds %d objects (ids add up to %d), catfish %d (%d)",
				i, qs[i], name, got[i].Count, got[i].Sum, want[i].Count, want[i].Sum)
		}
	}
	return nil
}

// points returns the points of nearest, after all peers have found
// objects at the same distances from a sample of them. The objects may
// differ: several can be equally far.
func (s *stand) points() ([]rstar.Rect, error) {
	qs, err := s.queries(scales[0])
	if err != nil || s.agree["nearest"] {
		return qs, err
	}
	s.agree["nearest"] = true
	var want []float64
	for _, p := range s.peers {
		if !p.Nearest {
			continue
		}
		x, err := s.tree(p)
		if err != nil {
			return nil, err
		}
		got := s.distances(x.Nearest(qs, nearestK), qs)
		if want == nil {
			want = got
		}
		for i := range want {
			// Libraries square, or not, and round differently.
			if math.Abs(got[i]-want[i]) > 1e-9*math.Max(got[i], want[i]) {
				q := qs[i/nearestK]
				x, y := center(q)
				return nil, fmt.Errorf("nearest to %v %v: number %d of %s is %v away, of catfish %v",
					x, y, i%nearestK+1, p.Name, got[i], want[i])
			}
		}
	}
	return qs, nil
}

// distances returns the distances of the nearest objects, ascending for
// each query.
func (s *stand) distances(run func(lo, hi int, ids []uint64), qs []rstar.Rect) []float64 {
	ids := make([]uint64, sampleQueries*nearestK)
	run(0, sampleQueries, ids)
	ds := make([]float64, len(ids))
	for i, id := range ids {
		x, y := center(qs[i/nearestK])
		ds[i] = s.w.items[id].Rect.Distance(x, y)
	}
	for i := 0; i < len(ds); i += nearestK {
		slices.Sort(ds[i : i+nearestK])
	}
	return ds
}
