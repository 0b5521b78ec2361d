package catfish

import (
	"cmp"
	"slices"

	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// Neighbor is an object found by Nearest, with its distance.
type Neighbor struct {
	rstar.Item
	Dist float64
}

// nearestWalk finds the k objects nearest to a point: best-first (Hjaltason
// and Samet 1999). The nodes nearest by their boxes are read next, several
// at once up to speculate, and none whose box is farther than the k-th
// object found so far.
type nearestWalk struct {
	walk
	x, y float64
	k    int
	best []Neighbor // max-heap by distance, at most k
	todo []nodeDist // min-heap by distance
	out  int
	err  error
}

type nodeDist struct {
	ref  offload.Ref
	dist float64
}

// speculate bounds nodes read at once: the second nearest node is needed
// about every other time, later ones rarely.
const speculate = 3

func (s *nearestWalk) restart(sl *slab, try int) {
	s.begin(sl, try)
	s.best, s.todo, s.out, s.err = s.best[:0], s.todo[:0], 0, nil
}

// Next reads the header and the root, then the nearest nodes; lines when
// there is nothing else to do.
func (s *nearestWalk) Next() (offload.Ref, bool) {
	r, ok, err := s.next()
	for {
		switch {
		case err != nil:
			s.err = err
			return r, false
		case !ok && (len(s.todo) == 0 || s.out >= speculate ||
			len(s.best) == s.k && s.todo[0].dist > s.best[0].Dist):
			return s.nextLine()
		case !ok:
			r = heapPop(&s.todo, byNodeDist).ref
		}
		k := s.copyOf(r)
		if k == nil {
			s.out++
			return r, true
		}
		err = s.name(k.node, r.Hop)
		ok = false
	}
}

// name adds the children of an internal node that are to be read in round
// trip hop.
func (s *nearestWalk) name(n rstar.Node, hop uint16) error {
	for i := range n.Count() {
		d := n.Rect(i).Distance(s.x, s.y)
		if len(s.best) == s.k && d > s.best[0].Dist {
			continue
		}
		r, err := s.ref(n.Ref(i), n.Level()-1, hop)
		if err != nil {
			return err
		}
		heapPush(&s.todo, nodeDist{r, d}, byNodeDist)
	}
	return nil
}

// Visit takes one block.
func (s *nearestWalk) Visit(ref offload.Ref, b []byte) (offload.Verdict, error) {
	switch {
	case ref.Tag == headerTag:
		v, err := s.visitHeader(b)
		if v == offload.Accept {
			s.out--
		}
		return v, err
	case ref.Tag&lineTag != 0:
		k := &s.relied[uint32(ref.Tag)]
		v, changed, err := s.visitLine(k, b)
		if changed {
			// Nodes were put in order, and left out, by the old boxes.
			s.cache.Drop(uint64(k.chunk), k.kept)
			v = offload.Restart
		}
		return v, err
	}
	n, v, err := s.view(uint32(ref.Tag), int(ref.Tag>>32), b)
	if err != nil || v != offload.Accept {
		return v, err
	}
	s.out--
	if !n.Leaf() {
		return offload.Accept, s.name(n, ref.Hop+1)
	}
	for i := range n.Count() {
		r := n.Rect(i)
		d := r.Distance(s.x, s.y)
		if len(s.best) == s.k {
			if d > s.best[0].Dist {
				continue
			}
			heapPop(&s.best, byFarther)
		}
		heapPush(&s.best, Neighbor{rstar.Item{Rect: r, ID: n.Ref(i)}, d}, byFarther)
	}
	return offload.Accept, nil
}

// sortNeighbors orders nearest first, ties by id.
func sortNeighbors(n []Neighbor) {
	slices.SortFunc(n, func(a, b Neighbor) int {
		return cmp.Or(cmp.Compare(a.Dist, b.Dist), cmp.Compare(a.ID, b.ID))
	})
}

func byNodeDist(a, b nodeDist) bool { return a.dist < b.dist }
func byFarther(a, b Neighbor) bool  { return a.Dist > b.Dist }
