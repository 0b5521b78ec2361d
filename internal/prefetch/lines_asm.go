//go:build amd64 || arm64

package prefetch

import "unsafe"

// Lines asks for so many lines, at least one, from the one of p on, to be
// brought into the second level cache: more reads may be on their way there
// than to the first. It reads nothing, so any address is safe, and a writer at
// the same time is no race.
//
//go:noescape
func Lines(p unsafe.Pointer, lines int)
