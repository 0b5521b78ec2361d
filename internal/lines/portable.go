package lines

import (
	"sync/atomic"
	"unsafe"
)

// copyPortable copies up to n lines by atomic loads of single lanes, which
// the race detector understands, and returns how many it copied: fewer than n
// if one changed in each of tries attempts. The first read goes up and the
// second down, so that lane 0 is read first and last (claim 2).
//
//go:nocheckptr
func copyPortable(dst, src unsafe.Pointer, n int) int {
	const lanes = Bytes / lane
	for i := range n {
		from := (*[lanes]uint64)(unsafe.Add(src, i*Bytes))
		to := (*[Bytes]byte)(unsafe.Add(dst, i*Bytes))
		var line [lanes]uint64
		ok := false
		for t := 0; t < tries && !ok; t++ {
			for l := range lanes {
				line[l] = atomic.LoadUint64(&from[l])
			}
			ok = true
			for l := lanes - 1; l >= 0; l-- {
				if atomic.LoadUint64(&from[l]) != line[l] {
					ok = false
					break
				}
			}
		}
		if !ok {
			return i
		}
		*to = *(*[Bytes]byte)(unsafe.Pointer(&line))
	}
	return n
}
