//go:build amd64 || arm64

package prefetch

import "unsafe"

// Lines requests lines, at least one, from the one of p on, into the second
// level cache: more reads may be in flight to it than to the first. It reads
// nothing, so any address is safe, and a writer at the same time is no race.
//
//go:noescape
func Lines(p unsafe.Pointer, lines int)
