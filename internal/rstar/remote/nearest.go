package remote

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

// Compare orders nearest first, ties by id.
func (n Neighbor) Compare(o Neighbor) int {
	return cmp.Or(cmp.Compare(n.Dist, o.Dist), cmp.Compare(n.ID, o.ID))
}

// nearestWalk finds the k objects nearest to a point: best-first (Hjaltason
// and Samet 1999). The nodes nearest by their boxes are read next, several
// at once up to speculate, and none whose box is farther than the k-th
// object found so far.
type nearestWalk struct {
	walk
	x, y     float64
	k        int
	within   float64       // nothing farther
	best     []Neighbor    // max-heap by distance, at most k
	todo     []nodeDist    // min-heap by distance
	out      int           // blocks in flight, but for lines and repairs
	read     []uint64      // chunks of children that were read, or whose copies were used
	toRepair []offload.Ref // reads of nodes that have changed since they were cached
}

type nodeDist struct {
	ref  offload.Ref
	dist float64
}

// speculate bounds the nodes read at once. The second nearest node is
// needed about every other time, later ones rarely.
const speculate = 3

func (s *nearestWalk) restart(t *Tree, try int) {
	s.begin(t, try)
	s.best, s.todo, s.read, s.toRepair = s.best[:0], s.todo[:0], s.read[:0], s.toRepair[:0]
	s.out = 0
}

// Next reads the header and the root, then the nearest nodes; lines, and
// the nodes that they show to have changed, when there is nothing else to do.
func (s *nearestWalk) Next() (offload.Ref, bool, error) {
	r, ok, err := s.next()
	for {
		switch {
		case err != nil:
			return r, false, err
		case !ok && (len(s.todo) == 0 || s.out >= speculate || s.tooFar(s.todo[0].dist)):
			if last := len(s.toRepair) - 1; last >= 0 {
				r, s.toRepair = s.toRepair[last], s.toRepair[:last]
				return r, true, nil
			}
			r, ok = s.nextLine()
			return r, ok, nil
		case !ok:
			r = heapPop(&s.todo, byNodeDist).ref
			s.read = append(s.read, uint64(uint32(r.Tag)))
		}
		k := s.copyOf(r)
		if k == nil {
			s.out++
			return r, true, nil
		}
		err = s.addChildren(k.node, r.Hop)
		ok = false
	}
}

// tooFar reports whether no object at that distance, or farther, can be among those
// found.
func (s *nearestWalk) tooFar(dist float64) bool {
	return dist > s.within || len(s.best) == s.k && dist > s.best[0].Dist
}

// addChildren adds the children of an internal node that are to be read in round
// trip hop.
func (s *nearestWalk) addChildren(n rstar.Node, hop uint16) error {
	for i := range n.Count() {
		d := n.Rect(i).Distance(s.x, s.y)
		if s.tooFar(d) {
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

// Visit takes the bytes of one block.
func (s *nearestWalk) Visit(ref offload.Ref, b []byte) (offload.Verdict, error) {
	switch {
	case ref.Tag == headerTag:
		v, err := s.visitHeader(b)
		if v == offload.Accept {
			s.out--
		}
		return v, err
	case ref.Tag&lineTag != 0:
		r, v, err := s.visitLine(uint32(ref.Tag), b)
		if r.Len > 0 {
			s.toRepair = append(s.toRepair, r)
		}
		return v, err
	case ref.Tag&repairTag != 0:
		return s.visitRepair(ref, b)
	}
	n, v, err := s.view(uint32(ref.Tag), int(ref.Tag>>32), b)
	if err != nil || v != offload.Accept {
		return v, err
	}
	s.out--
	if !n.Leaf() {
		return offload.Accept, s.addChildren(n, ref.Hop+1)
	}
	for i := range n.Count() {
		r := n.Rect(i)
		d := r.Distance(s.x, s.y)
		if s.tooFar(d) {
			continue
		}
		if len(s.best) == s.k {
			heapPop(&s.best, byFarther)
		}
		heapPush(&s.best, Neighbor{rstar.Item{Rect: r, ID: n.Ref(i)}, d}, byFarther)
	}
	return offload.Accept, nil
}

// visitRepair takes all of a node that has changed since it was cached. Its
// children were put in order, or left out, by boxes that may have grown.
func (s *nearestWalk) visitRepair(ref offload.Ref, b []byte) (offload.Verdict, error) {
	k := &s.copies[uint32(ref.Tag)]
	n, v, err := s.view(k.chunk, k.node.Level(), b)
	if err != nil || v != offload.Accept {
		return v, err
	}
	for i := range k.node.Count() {
		r := k.node.Ref(i)
		if n.Stamp() != k.node.Stamp() && !n.Names(r) && (slices.Contains(s.read, r) || s.queued(r) >= 0) {
			return offload.Restart, nil
		}
	}
	for i := range n.Count() {
		r, d := n.Ref(i), n.Rect(i).Distance(s.x, s.y)
		if s.tooFar(d) || slices.Contains(s.read, r) {
			continue
		}
		if j := s.queued(r); j >= 0 {
			if d < s.todo[j].dist {
				s.todo[j].dist = d
				heapUp(s.todo, j, byNodeDist)
			}
			continue
		}
		child, err := s.ref(r, n.Level()-1, ref.Hop+1)
		if err != nil {
			return 0, err
		}
		heapPush(&s.todo, nodeDist{child, d}, byNodeDist)
	}
	return offload.Accept, nil
}

// queued returns where in todo a node is, or -1.
func (s *nearestWalk) queued(chunk uint64) int {
	return slices.IndexFunc(s.todo, func(n nodeDist) bool { return uint64(uint32(n.ref.Tag)) == chunk })
}

func byNodeDist(a, b nodeDist) bool { return a.dist < b.dist }
func byFarther(a, b Neighbor) bool  { return a.Dist > b.Dist }
