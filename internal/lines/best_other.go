//go:build !amd64 || race

package lines

import "unsafe"

// best is the path that Copy uses. The race detector cannot see assembly, so
// under -race it is the portable one.
const best = portable

// paths are the ones that this machine supports.
func paths() []path { return []path{portable} }

func try(_ path, dst, src unsafe.Pointer, n int) int {
	return copyPortable(dst, src, n)
}
