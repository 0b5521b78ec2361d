package soft

import (
	"os"
	"unsafe"
)

// allocHeap returns size zeroed bytes that start at a page boundary, from the
// Go heap. It is the portable path; the garbage collector frees the memory,
// so free does nothing.
//
// SAFETY: the slice's backing array holds no pointers and Go's collector
// does not move it, so its alignment lasts.
func allocHeap(size int) (mem []byte, free func(), err error) {
	page := os.Getpagesize()
	// A whole number of pages, so that the last line is complete.
	b := make([]byte, roundUp(size, page)+page)
	pad := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (page - 1)
	return b[pad : pad+size : pad+size], func() {}, nil
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
