//go:build !amd64 || race

package rstar

func leafPut(n node, es []entry) { leafPutPlain(n, es) }

func mbrOf(es []entry) Rect { return mbrPlain(es) }

func vectorRanks() bool { return false }

func rankKeys(keys *[sortSpace]int32, n int, ranks *[sortSpace]int32) { ranksPlain(keys, n, ranks) }

func sweepCorners(cs *[maxFanout + 1]corners, perm *[maxFanout + 1]uint8, n int, head, tail *[maxFanout + 1]corners) {
	sweepPlain(cs, perm, n, head, tail)
}

func fillGrowths(n *uint64, groups int, r *box32, g *growths, rest *[lanes]float64) {
	growthPlain(n, groups, r, g, rest)
}

func growthsAtMost(g *growths, groups int, bound float64, m *masks) { atMostPlain(g, groups, bound, m) }

func boxesMeet(n *uint64, groups int, q *box32, m *masks) { meetPlain(n, groups, q, m) }

func encodeBox(f *frame, r *Rect) box32 { return f.encodePlain(*r) }
