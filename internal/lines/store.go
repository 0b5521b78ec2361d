package lines

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// word is the size that Store stores whole.
const word = 8

// Store copies min(len(dst), len(src)) bytes to memory that another CPU,
// perhaps in another process, looks at, and returns that number. Exactly 8
// bytes at an aligned address are stored whole, and not before earlier stores:
// an atomic load sees all of them or none, and if it sees them, everything
// stored before. For other lengths and addresses nothing is promised while it
// runs. It does not allocate.
//
// Go's atomic store is sequentially consistent: XCHG on amd64, STLR on arm64,
// where a plain store (and so copy) may overtake the stores before it.
//
// SAFETY: the pointer is that of 8 bytes of dst, and aligned.
func Store(dst, src []byte) int {
	if len(src) != word || len(dst) < word || uintptr(unsafe.Pointer(unsafe.SliceData(dst)))%word != 0 {
		return copy(dst, src)
	}
	atomic.StoreUint64((*uint64)(unsafe.Pointer(unsafe.SliceData(dst))), binary.NativeEndian.Uint64(src))
	return word
}
