//go:build amd64 && !race

package lines

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// best is the path that Copy uses: the widest one that the processor has and
// the operating system saves on a context switch.
var best = paths()[len(paths())-1]

// paths are the ones that this machine supports.
func paths() []path {
	p := []path{portable, sse2}
	if cpu.X86.HasAVX2 {
		p = append(p, avx2)
	}
	if cpu.X86.HasAVX512F {
		p = append(p, avx512)
	}
	return p
}

func try(p path, dst, src unsafe.Pointer, n int) int {
	switch p {
	case avx512:
		return copyAVX512(dst, src, n, tries)
	case avx2:
		return copyAVX2(dst, src, n, tries)
	case sse2:
		return copySSE2(dst, src, n, tries)
	}
	return copyPortable(dst, src, n)
}

// The three are copyPortable in assembly, with wider loads.

//go:noescape
func copyAVX512(dst, src unsafe.Pointer, n, tries int) int

//go:noescape
func copyAVX2(dst, src unsafe.Pointer, n, tries int) int

//go:noescape
func copySSE2(dst, src unsafe.Pointer, n, tries int) int
