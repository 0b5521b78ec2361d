//go:build !unix

package rstar

import "unsafe"

// mapSlab takes the slab from the Go heap; it holds no pointers.
func mapSlab(bytes int64) ([]byte, error) {
	b := make([]byte, bytes+LineBytes)
	p := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	skip := int64(-p % LineBytes)
	return b[skip : skip+bytes], nil
}

func unmapSlab([]byte) error { return nil }
