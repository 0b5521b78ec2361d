//go:build race

package lines

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// Fill is Fill without the race detector. The detector does not know of lines that
// are not accepted, so here words are stored atomically. dst begins at a word.
//
// SAFETY: the pointers are those of 8 bytes of dst, which is aligned; the last bytes
// share their word with others of dst's line.
func Fill(dst, src []byte) int {
	n := min(len(dst), len(src))
	for i := 0; i < n; i += word {
		p := (*uint64)(unsafe.Pointer(&dst[i]))
		var b [word]byte
		binary.NativeEndian.PutUint64(b[:], atomic.LoadUint64(p))
		copy(b[:], src[i:n])
		atomic.StoreUint64(p, binary.NativeEndian.Uint64(b[:]))
	}
	return n
}
