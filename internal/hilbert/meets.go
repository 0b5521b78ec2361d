package hilbert

// Rect is a rectangle of cells, borders included.
type Rect struct{ MinX, MinY, MaxX, MaxY uint32 }

// Meets reports whether the curve is in a rectangle anywhere between two positions, both
// included. It visits four squares of each size for each end of that run.
func Meets(from, to uint64, r Rect) bool {
	w := walk{from, to, r}
	return w.meets(square{bits: 32})
}

type walk struct {
	from, to uint64
	rect     Rect
}

// square of 2^bits cells a side: its first position, its corner, and whether the curve
// through it has both axes swapped and reversed, compared with that through all. These two
// are all that a quarter can differ in, and do not depend on their order.
type square struct {
	first        uint64
	x, y         uint32
	bits         uint
	swap, negate bool
}

func (w *walk) meets(s square) bool {
	side := uint32(1)<<s.bits - 1       // less one
	last := s.first + 1<<(2*s.bits) - 1 // all overflow to the greatest number for 32 bits
	switch {
	case w.rect.MaxX < s.x || w.rect.MinX > s.x+side || w.rect.MaxY < s.y || w.rect.MinY > s.y+side, w.to < s.first || w.from > last:
		return false
	case w.from <= s.first && last <= w.to:
		return true
	}
	for quarter := range uint64(4) { // left lower, left upper, right upper, right lower
		right, upper := quarter >= 2, quarter == 1 || quarter == 2
		if s.swap {
			right, upper = upper, right
		}
		q := square{first: s.first + quarter<<(2*s.bits-2), x: s.x, y: s.y, bits: s.bits - 1, swap: s.swap, negate: s.negate}
		if right != s.negate {
			q.x += 1 << q.bits
		}
		if upper != s.negate {
			q.y += 1 << q.bits
		}
		switch quarter {
		case 0:
			q.swap = !q.swap
		case 3:
			q.swap, q.negate = !q.swap, !q.negate
		}
		if w.meets(q) {
			return true
		}
	}
	return false
}
