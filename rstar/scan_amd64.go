//go:build amd64 && !race

package rstar

import (
	"math"

	"golang.org/x/sys/cpu"
)

var inf = math.Inf(1)

// isa is the instruction set that scans use; tests go through those in
// isas, the fastest first.
var isas = func() []isaLevel {
	l := []isaLevel{plain}
	if cpu.X86.HasAVX2 {
		l = append([]isaLevel{avx2}, l...)
		if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ {
			l = append([]isaLevel{avx512}, l...)
		}
	}
	return l
}()

var isa = isas[0]

func leafMask(n *uint64, groups int, q *Rect, m *masks, few bool) {
	switch isa {
	case avx512:
		if few {
			leafFewAVX512(n, groups, &q.MinX, &m[0])
		} else {
			leafMaskAVX512(n, groups, &q.MinX, &m[0])
		}
	case avx2:
		leafMaskAVX2(n, groups, &q.MinX, &m[0])
	default:
		leafMaskPlain(n, groups, q, m)
	}
}

func innerMask(n *uint64, groups int, q *Rect, m *masks) {
	switch isa {
	case avx512:
		innerMaskAVX512(n, groups, &q.MinX, &m[0])
	case avx2:
		innerMaskAVX2(n, groups, &q.MinX, &m[0])
	default:
		innerMaskPlain(n, groups, q, m)
	}
}

func leafDist(n *uint64, groups int, p *[2]float64, d *distances) {
	switch isa {
	case avx512:
		leafDistAVX512(n, groups, &p[0], &d.leaf[0])
	case avx2:
		leafDistAVX2(n, groups, &p[0], &d.leaf[0])
	default:
		leafDistPlain(n, groups, p, d)
	}
}

func innerDist(n *uint64, groups int, p *[2]float32, d *distances) {
	switch isa {
	case avx512:
		innerDistAVX512(n, groups, &p[0], &d.inner[0])
	case avx2:
		innerDistAVX2(n, groups, &p[0], &d.inner[0])
	default:
		innerDistPlain(n, groups, p, d)
	}
}

func leafNear(d *distances, groups int, left, hits *masks, near float64) float64 {
	if isa != avx512 {
		return nearPlain(d.leaf[:], left, hits, near)
	}
	rest := [lanes]float64{inf, inf, inf, inf, inf, inf, inf, inf}
	leafNearAVX512(&d.leaf[0], groups, &left[0], &hits[0], near, &rest[0])
	return min(rest[1], rest[2], rest[3], rest[4], rest[5], rest[6], rest[7])
}

func innerNear(d *distances, groups int, left, hits *masks, near float32) float32 {
	if isa != avx512 {
		return nearPlain(d.inner[:], left, hits, near)
	}
	const inf = float32(math.MaxFloat32)
	rest := [2 * lanes]float32{inf, inf, inf, inf, inf, inf, inf, inf, inf, inf, inf, inf, inf, inf, inf, inf}
	innerNearAVX512(&d.inner[0], groups, &left[0], &hits[0], near, &rest[0])
	least := rest[2]
	for _, v := range rest[3:] {
		least = min(least, v)
	}
	return least
}

func leafBounds(n *uint64, groups int, b *bounds) {
	switch isa {
	case avx512:
		leafBoundsAVX512(n, groups, &b[0])
	case avx2:
		leafBoundsAVX2(n, groups, &b[0])
	default:
		leafBoundsPlain(n, groups, b)
	}
}

func innerBounds(n *uint64, groups int, b *bounds) {
	switch isa {
	case avx512:
		innerBoundsAVX512(n, groups, &b[0])
	case avx2:
		innerBoundsAVX2(n, groups, &b[0])
	default:
		innerBoundsPlain(n, groups, b)
	}
}

func copyLines(dst, src *uint64, lines int) {
	switch isa {
	case avx512:
		copyLinesAVX512(dst, src, lines)
	case avx2:
		copyLinesAVX2(dst, src, lines)
	default:
		copyLinesPlain(dst, src, lines)
	}
}

// prefetch asks for a node to be brought into the caches.
func (t *Tree) prefetch(chunk uint32) {
	if uint64(chunk) < t.chunks {
		prefetchLines(&t.words[int(chunk)*t.nodeWords], t.nodeLines)
	}
}
