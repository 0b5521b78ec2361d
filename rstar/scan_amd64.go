//go:build amd64 && !race

package rstar

import (
	"math"
	"unsafe"

	"golang.org/x/sys/cpu"
)

var inf = math.Inf(1)

const itemBytes = int(unsafe.Sizeof(Item{}))

// isa is the instruction set that scans use; tests iterate over isas, the
// fastest first.
var isas = func() []isaLevel {
	l := []isaLevel{plain}
	if cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2 {
		l = append([]isaLevel{avx2}, l...)
		if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW {
			l = append([]isaLevel{avx512}, l...)
		}
	}
	return l
}()

var isa = isas[0]

func leafMask(n *uint64, groups int, q *Rect, m *masks) {
	switch isa {
	case avx512:
		leafMaskAVX512(n, groups, &q.MinX, &m[0])
	case avx2:
		leafMaskAVX2(n, groups, &q.MinX, &m[0])
	default:
		leafMaskPlain(n, groups, q, m)
	}
}

// The next three have no AVX-512 path: they go object by object, and four
// float64 fill an AVX2 register.

func leafTake(n *uint64, k int, m *masks, q *Rect, dst []Item) int {
	if isa == plain {
		return leafTakePlain(n, k, m, q, dst)
	}
	return leafTakeAVX2(n, lowLine(n, k), &m[0], &q.MinX, &dst[0].Rect.MinX) / itemBytes
}

func leafDist(n *uint64, k, count int, p *[2]float64, d *distances) {
	m := firstObjects(count)
	if isa == plain {
		leafDistPlain(n, k, &m, p, d)
		return
	}
	leafDistAVX2(n, lowLine(n, k), &m[0], (count+leafGroup-1)/leafGroup, &p[0], &d.leaf[0])
}

func leafBounds(n *uint64, k, count int) (r Rect) {
	m := firstObjects(count)
	if isa == plain {
		return leafBoundsPlain(n, k, &m)
	}
	leafBoundsAVX2(n, lowLine(n, k), &m[0], &r.MinX)
	return r
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
