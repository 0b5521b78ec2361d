//go:build !amd64 || race

package rstar

// useAVX2: the plain path alone, here.
var useAVX2 = false

func maskAVX2(n *uint64, groups int, q *Rect, m *masks) {
	panic("rstar: no AVX2 on this platform")
}
