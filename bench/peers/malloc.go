//go:build cgo && (boost || geos)

package peers

/*
#include <malloc.h>
*/
import "C"

// mallocBytes is the size of malloc's live allocations, its own overhead
// included.
func mallocBytes() int64 {
	m := C.mallinfo2()
	return int64(m.uordblks) + int64(m.hblkhd)
}
