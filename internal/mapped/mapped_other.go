//go:build !unix

package mapped

import "unsafe"

// lineBytes is the alignment.
const lineBytes = 64

// Map returns memory of the Go heap, aligned to 64 bytes.
func Map(bytes int64) ([]byte, error) {
	b := make([]byte, bytes+lineBytes)
	p := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	skip := int64(-p % lineBytes)
	return b[skip : skip+bytes], nil
}

// Unmap leaves b to the garbage collector.
func Unmap([]byte) error { return nil }
