package placement

import (
	"cmp"
	"fmt"
	"slices"
)

// Budget bounds a plan.
type Budget struct {
	// Bytes that are moved at most; 0: any number.
	Bytes uint64
	// Moves at most, those under way not counted; 0: as many as a map has room for.
	Moves int
	// Tolerance: if what each group has differs from its share by this part of the share
	// at most, nothing moves. Groups of weight 0 are drained nevertheless.
	Tolerance float64
}

// MaxLoad of a slot, or of all boxes of a sample, in bytes.
const MaxLoad = 1 << 50

// balance is what planners have in common: how much more than its share each group has,
// after the moves under way.
type balance struct {
	m       *Map
	surplus []int64
	even    bool   // within the tolerance: only groups of weight 0 give
	room    uint64 // bytes left of the budget
	left    int    // moves left of it
	moves   []Move
}

// balance of a load of each group.
func (m *Map) balance(has []uint64, b Budget) *balance {
	p := &balance{m: m, surplus: make([]int64, len(m.Groups)), room: b.Bytes, left: b.Moves}
	if p.room == 0 {
		p.room = 1<<63 - 1
	}
	most := MaxMoves - len(m.Moves)
	if p.left <= 0 || p.left > most {
		p.left = most
	}
	var total uint64
	for _, n := range has {
		total += n
	}
	begin := uint64(0)
	p.even = true
	for g, end := range m.shares(total) {
		share := end - begin
		begin = end
		p.surplus[g] = int64(has[g]) - int64(share)
		p.even = p.even && (m.Groups[g].Weight == 0 || float64(max(p.surplus[g], -p.surplus[g])) <= b.Tolerance*float64(share))
	}
	return p
}

// After returns the map as it is when all moves of it have ended.
func (m *Map) After() *Map {
	n := *m
	n.Moves = nil
	for _, v := range m.Moves {
		if v.Collection == "" {
			n.Slots[v.Slot] = v.To
			continue
		}
		if curve, at, err := n.ranged(v.Collection, v.Start); err == nil {
			n.ranges(curve)[at].Group = v.To
		}
	}
	return &n
}

// pairs returns groups that give and take, in the order in which a plan tries them: those
// that are drained, then those with the most above their shares; and those with the least.
func (p *balance) pairs() (give, take []Index) {
	for g := range p.m.Groups {
		if p.drained(Index(g)) || (p.surplus[g] > 0 && !p.even) {
			give = append(give, Index(g))
		}
		if !p.drained(Index(g)) {
			take = append(take, Index(g))
		}
	}
	slices.SortStableFunc(give, func(a, b Index) int {
		switch {
		case p.drained(a) == p.drained(b):
			return cmp.Compare(p.surplus[b], p.surplus[a])
		case p.drained(a):
			return -1
		}
		return 1
	})
	slices.SortStableFunc(take, func(a, b Index) int { return cmp.Compare(p.surplus[a], p.surplus[b]) })
	return give, take
}

func (p *balance) drained(g Index) bool { return p.m.Groups[g].Weight == 0 }

// amount that may move from a group to another one, so that none has more than its share
// after it that had less.
func (p *balance) amount(from, to Index) uint64 {
	lack := uint64(max(-p.surplus[to], 0))
	if p.drained(from) {
		return min(lack, p.room)
	}
	return min(uint64(max(p.surplus[from], 0)), lack, p.room)
}

// move adds one of a load to the plan.
func (p *balance) move(part Part, from, to Index, load uint64) {
	p.moves = append(p.moves, Move{Part: part, From: from, To: to})
	p.surplus[from] -= int64(load)
	p.surplus[to] += int64(load)
	p.room -= load
	p.left--
}

// Balance plans moves of slots, given what each has in bytes, so that each group has its
// share by weight, as far as slots are small enough. It moves nothing to a group beyond its
// share, and nothing from one below it, so that a new group costs at most its own share;
// but what is drained goes also where it does not fit.
// Equal input gives equal moves. Each slot counts a byte more, so that empty ones are
// spread as well. ErrLoad.
func (m *Map) Balance(load *[Slots]uint64, b Budget) ([]Move, error) {
	owner := m.Slots
	var moving [Slots]bool
	for _, v := range m.Moves {
		if v.Collection == "" {
			owner[v.Slot], moving[v.Slot] = v.To, true
		}
	}
	has, slots := make([]uint64, len(m.Groups)), make([][]uint16, len(m.Groups))
	for s, g := range owner {
		if load[s] > MaxLoad {
			return nil, fmt.Errorf("%w: %d bytes of slot %d, at most %d", ErrLoad, load[s], s, uint64(MaxLoad))
		}
		has[g] += load[s] + 1
		if !moving[s] {
			slots[g] = append(slots[g], uint16(s))
		}
	}
	for _, of := range slots {
		slices.SortFunc(of, func(a, b uint16) int { return cmp.Or(cmp.Compare(load[a], load[b]), cmp.Compare(a, b)) })
	}
	p := m.balance(has, b)
	for p.left > 0 && p.moveSlot(slots, load) {
	}
	return p.moves, nil
}

// moveSlot adds a move: the largest slot that fits, of the first pair that has one.
func (p *balance) moveSlot(slots [][]uint16, load *[Slots]uint64) bool {
	give, take := p.pairs()
	for _, from := range give {
		of := slots[from] // by load
		for _, to := range take {
			i, _ := slices.BinarySearchFunc(of, p.amount(from, to), func(s uint16, most uint64) int {
				if load[s]+1 <= most {
					return -1
				}
				return 1
			})
			i--
			if i < 0 && p.drained(from) && len(of) > 0 && load[of[0]] < p.room {
				i = 0 // None lacks as much. It must go, and to has the least.
			}
			if i < 0 {
				continue
			}
			s := of[i]
			slots[from] = slices.Delete(of, i, i+1)
			p.move(Part{Slot: s}, from, to, load[s]+1)
			return true
		}
	}
	return false
}
