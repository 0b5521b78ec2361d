package remote

import (
	"fmt"
	"slices"

	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// searchWalk finds the objects that intersect a rectangle, or at least one of several.
// Its Reader reuses it.
type searchWalk struct {
	walk
	q     rstar.Rect
	boxes []rstar.Rect // if there are several: q is around all (rstar/any.go)
	limit int          // 0: all
	count bool
	found int
	items []rstar.Item
	base  int // items before this walk's, the caller's own
	most  int // Limits.Items
	todo  []offload.Ref
	hits  []int32
	named []uint64 // the children that a copy named, when it is repaired
}

func (s *searchWalk) restart(t *Tree, try int) {
	s.begin(t, try)
	s.items, s.todo, s.found = s.items[:s.base], s.todo[:0], 0
}

func (s *searchWalk) full() bool { return s.limit > 0 && s.found >= s.limit }

// Next reads the header and the root, then the nodes that Visit found. Where the cache
// has a copy, it follows that at once. Last come the lines that validate the copies.
// These, and the nodes that they show to have changed, are read even if the limit is
// reached: two copies may have named one leaf, and only their nodes show that.
func (s *searchWalk) Next() (offload.Ref, bool, error) {
	r, ok, err := s.next()
	for {
		switch {
		case err != nil:
			return r, false, err
		case !ok && len(s.todo) == 0:
			r, ok = s.nextLine()
			return r, ok, nil
		case !ok:
			r = s.todo[len(s.todo)-1]
			s.todo = s.todo[:len(s.todo)-1]
			if s.full() && r.Tag&repairTag == 0 {
				continue
			}
		}
		k := s.copyOf(r)
		if k == nil {
			return r, true, nil
		}
		err = s.addChildren(k.node, r.Hop)
		ok = false
	}
}

// addChildren adds the children of an internal node that are to be read in round
// trip hop.
func (s *searchWalk) addChildren(n rstar.Node, hop uint16) error {
	s.hits = s.appendHits(s.hits[:0], n)
	for _, i := range s.hits {
		r, err := s.childRef(n, int(i), &s.q, hop)
		if err != nil {
			return err
		}
		s.todo = append(s.todo, r)
	}
	return nil
}

// Visit takes the bytes of one block.
func (s *searchWalk) Visit(ref offload.Ref, b []byte) (offload.Verdict, error) {
	if ref.Tag == headerTag {
		return s.visitHeader(b)
	}
	if ref.Tag&leafHeadTag != 0 {
		r, v, err := s.visitLeafHead(ref, b, &s.q)
		if r.Len > 0 && err == nil {
			s.todo = append(s.todo, r)
		}
		return v, err
	}
	if ref.Tag&tagBits != 0 {
		return s.visitCopy(ref, b)
	}
	n, v, err := s.view(uint32(ref.Tag), int(ref.Tag>>32), b)
	if err != nil || v != offload.Accept {
		return v, err
	}
	if n.Leaf() {
		return s.visitLeaf(n)
	}
	return offload.Accept, s.addChildren(n, ref.Hop+1)
}

// visitCopy takes the line that validates a copy, or all of a node that has
// changed since.
func (s *searchWalk) visitCopy(ref offload.Ref, b []byte) (offload.Verdict, error) {
	if ref.Tag&lineTag != 0 {
		r, v, err := s.visitLine(uint32(ref.Tag), b)
		if r.Len > 0 {
			s.todo = append(s.todo, r)
		}
		return v, err
	}
	k := &s.copies[uint32(ref.Tag)]
	n, v, err := s.view(k.chunk, k.node.Level(), b)
	if err != nil || v != offload.Accept {
		return v, err
	}
	// Children are compared by reference: a move may have changed their order.
	s.named = s.named[:0]
	s.hits = s.appendHits(s.hits[:0], k.node)
	for _, j := range s.hits {
		r := k.node.Ref(int(j))
		if n.Stamp() != k.node.Stamp() && !n.Names(r) {
			return offload.Restart, nil
		}
		s.named = append(s.named, r)
	}
	s.hits = s.appendHits(s.hits[:0], n)
	for _, j := range s.hits {
		if slices.Contains(s.named, n.Ref(int(j))) {
			continue
		}
		r, err := s.childRef(n, int(j), &s.q, ref.Hop+1)
		if err != nil {
			return 0, err
		}
		s.todo = append(s.todo, r)
	}
	return offload.Accept, nil
}

// visitLeaf takes the hits of a leaf.
func (s *searchWalk) visitLeaf(n rstar.Node) (offload.Verdict, error) {
	before := len(s.items)
	s.items = n.AppendItems(s.items, s.q)
	if s.boxes != nil {
		s.items = s.onlyBoxes(s.items, before)
	}
	hits := len(s.items) - before
	if s.limit > 0 {
		hits = min(hits, s.limit-s.found)
	}
	s.found += hits
	if s.count {
		hits = 0
	}
	s.items = s.items[:before+hits]
	if s.most > 0 && len(s.items)-s.base > s.most {
		return 0, fmt.Errorf("%w: it exceeds %d objects", ErrTooLarge, s.most)
	}
	return offload.Accept, nil
}
