//go:build amd64 && !race

package rstar

import "golang.org/x/sys/cpu"

// useAVX2 selects maskAVX2; tests switch it off.
var useAVX2 = cpu.X86.HasAVX2

// maskAVX2 is maskPlain, four entries at a time.
//
//go:noescape
func maskAVX2(n *uint64, groups int, q *Rect, m *masks)
