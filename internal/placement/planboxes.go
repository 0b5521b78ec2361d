package placement

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
)

// BalanceBoxes plans moves of ranges of a collection of boxes, as Balance does of slots,
// from a sample of positions in any order, each of which stands for some bytes. It returns
// the map in which ranges are split as the moves need: it is written before Begin, and is
// the same map if no split is needed. What a group gets adjoins a range of its own, if the
// other group has such a range. Slots and each collection are balanced apart; only
// the room for moves is common to all. ErrUnknown, ErrLoad.
func (m *Map) BalanceBoxes(collection string, sample []uint64, each uint64, b Budget) (*Map, []Move, error) {
	curve, err := m.curve(collection)
	if err != nil {
		return nil, nil, err
	}
	if hi, total := bits.Mul64(each, uint64(len(sample))); hi > 0 || total == 0 || total > MaxLoad {
		return nil, nil, fmt.Errorf("%w: %d samples of %d bytes each of %q, want 1 byte in total to %d",
			ErrLoad, len(sample), each, collection, uint64(MaxLoad))
	}
	p := &rangePlan{curve: curve, sorted: slices.Sorted(slices.Values(sample)), each: each}
	has := make([]uint64, len(m.Groups))
	for i, r := range m.Boxes[curve].Ranges {
		p.owner, p.moving = append(p.owner, r.Group), append(p.moving, false)
		if v := m.moving(Part{Collection: collection, Start: r.Start}); v >= 0 {
			p.owner[i], p.moving[i] = m.Moves[v].To, true
		}
		has[p.owner[i]] += uint64(len(inside(m.Boxes[curve].Ranges, i, p.sorted))) * each
	}
	p.balance = m.balance(has, b)
	for p.left > 0 && p.next() {
	}
	if p.m != m {
		p.m.Version = m.Version + 1
	}
	return p.m, p.moves, nil
}

// rangePlan plans moves of ranges.
type rangePlan struct {
	*balance
	curve  int
	sorted []uint64 // the sample
	each   uint64   // bytes
	owner  []Index  // of each range, after all moves
	moving []bool   // each range
}

// next adds a move of the first pair that has one.
func (p *rangePlan) next() bool {
	give, take := p.pairs()
	for _, from := range give {
		for _, to := range take {
			for _, i := range p.candidates(from, to) {
				if p.moveOf(i, from, to) {
					return true
				}
			}
		}
	}
	return false
}

// candidates returns the ranges of a group that may move to another one: first those next
// to one that it has, then those with the most samples.
func (p *rangePlan) candidates(from, to Index) []int {
	ranges := p.m.Boxes[p.curve].Ranges
	var all []int
	for i := range ranges {
		if p.owner[i] == from && !p.moving[i] && (p.drained(from) || len(inside(ranges, i, p.sorted)) > 0) {
			all = append(all, i)
		}
	}
	far := func(i int) int {
		if p.has(i-1, to) || p.has(i+1, to) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b int) int {
		return cmp.Or(cmp.Compare(far(a), far(b)),
			cmp.Compare(len(inside(ranges, b, p.sorted)), len(inside(ranges, a, p.sorted))))
	})
	return all
}

// has reports whether a group has the range of a number, if there is such a range.
func (p *rangePlan) has(i int, g Index) bool { return i >= 0 && i < len(p.owner) && p.owner[i] == g }

// moveOf moves as much of a range as may move, if that is something.
func (p *rangePlan) moveOf(i int, from, to Index) bool {
	of := inside(p.m.Boxes[p.curve].Ranges, i, p.sorted)
	n := int(p.amount(from, to) / p.each)
	if n < len(of) {
		if at, ok := p.cut(i, of, n, to); ok {
			return p.moveCut(i, at, from, to)
		}
		// A range of a group that is drained must go, and to has the least.
		if !p.drained(from) || uint64(len(of))*p.each > p.room {
			return false
		}
	}
	p.add(i, len(of), from, to)
	return true
}

// cut returns where a range is cut so that at most n samples move: from its beginning if
// the group that gets them has what is before, else from its end.
func (p *rangePlan) cut(i int, of []uint64, n int, to Index) (at uint64, ok bool) {
	if n == 0 {
		return 0, false
	}
	if p.has(i-1, to) && !p.has(i+1, to) {
		return of[n], of[n] > of[0]
	}
	first := len(of) - n
	if of[first-1] == of[first] { // then all that are equal stay
		first = after(of, of[first])
	}
	if first == len(of) {
		return 0, false
	}
	return of[first], true
}

// moveCut splits a range and moves one side.
func (p *rangePlan) moveCut(i int, at uint64, from, to Index) bool {
	c := &p.m.Boxes[p.curve]
	split, err := p.m.Split(c.Collection, c.Ranges[i].Start, at)
	if err != nil {
		return false // The collection has as many ranges as it may.
	}
	piece := i + 1
	if p.has(i-1, to) && !p.has(i+1, to) {
		piece = i
	}
	p.m = split
	p.owner, p.moving = slices.Insert(p.owner, i, from), slices.Insert(p.moving, i, false)
	p.add(piece, len(inside(split.Boxes[p.curve].Ranges, piece, p.sorted)), from, to)
	return true
}

// add moves a range.
func (p *rangePlan) add(i, samples int, from, to Index) {
	c := &p.m.Boxes[p.curve]
	p.move(Part{Collection: c.Collection, Start: c.Ranges[i].Start}, from, to, uint64(samples)*p.each)
	p.owner[i], p.moving[i] = to, true
}
