//go:build amd64 && !race

package rstar

import "unsafe"

// The parts of writes that use the instruction set of scans (scan_amd64.go).

// The generator relies on the size of an entry.
var _ = [1]struct{}{}[unsafe.Sizeof(entry{})-56]

func leafPut(n node, es []entry) {
	if isa == plain || len(es) == 0 {
		leafPutPlain(n, es)
		return
	}
	m := firstObjects(len(es))
	leafPutAVX2(&n[0], lowLine(&n[0], n.groups()), &m[0], &es[0].rect.MinX)
}

// mbrOf returns the MBR of entries.
func mbrOf(es []entry) (r Rect) {
	if isa == plain || len(es) == 0 {
		return mbrPlain(es)
	}
	mbrAVX2(&es[0].rect.MinX, len(es), &r.MinX)
	return r
}

// vectorRanks reports whether ranking beats sorting.
func vectorRanks() bool { return isa != plain }

func rankKeys(keys *[sortSpace]int32, n int, ranks *[sortSpace]int32) {
	switch isa {
	case avx512:
		ranksAVX512(&keys[0], n, &ranks[0])
	case avx2:
		ranksAVX2(&keys[0], n, &ranks[0])
	default:
		ranksPlain(keys, n, ranks)
	}
}

func sweepCorners(cs *[maxFanout + 1]corners, perm *[maxFanout + 1]uint8, n int, head, tail *[maxFanout + 1]corners) {
	if isa == plain {
		sweepPlain(cs, perm, n, head, tail)
		return
	}
	sweepAVX2(&cs[0][0], &perm[0], n, &head[0][0], &tail[0][0])
}

func fillGrowths(n *uint64, groups int, r *box32, g *growths, rest *[lanes]float64) {
	switch isa {
	case avx512:
		growthAVX512(n, groups, &r.minX, &growthFloor[0], &g[0], &rest[0])
	case avx2:
		// Four lanes of rest are filled.
		rest[4], rest[5], rest[6], rest[7] = inf, inf, inf, inf
		growthAVX2(n, groups, &r.minX, &growthFloor[0], &g[0], &rest[0])
	default:
		growthPlain(n, groups, r, g, rest)
	}
}

func growthsAtMost(g *growths, groups int, bound float64, m *masks) {
	switch isa {
	case avx512:
		atMostAVX512(&g[0], groups, bound, &m[0])
	case avx2:
		atMostAVX2(&g[0], groups, bound, &m[0])
	default:
		atMostPlain(g, groups, bound, m)
	}
}

func boxesMeet(n *uint64, groups int, q *box32, m *masks) {
	switch isa {
	case avx512:
		meetAVX512(n, groups, &q.minX, &m[0])
	case avx2:
		meetAVX2(n, groups, &q.minX, &m[0])
	default:
		meetPlain(n, groups, q, m)
	}
}

func encodeBox(f *frame, r *Rect) (b box32) {
	if isa == plain {
		return f.encodePlain(*r)
	}
	encodeAVX2(&f.hx, f.inverse(), &r.MinX, &b.minX)
	return b
}
