//go:build amd64 && !race

package rstar

import "golang.org/x/sys/cpu"

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

// prefetch asks for a node to be brought into the caches.
func (t *Tree) prefetch(chunk uint32) {
	if uint64(chunk) < t.chunks {
		prefetchLines(&t.words[int(chunk)*t.nodeWords], t.nodeLines)
	}
}
