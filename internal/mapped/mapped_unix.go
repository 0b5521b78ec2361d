//go:build unix

// Package mapped has memory outside of Go's heap: zeroed, page-aligned, not
// scanned by the garbage collector, and allocated when it is touched. It is for
// memory that may be large and is mostly empty.
package mapped

import "golang.org/x/sys/unix"

// Map returns memory of that size, which Unmap must free.
func Map(bytes int64) ([]byte, error) {
	return unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
}

// Unmap frees memory from Map. It must not be used any more.
func Unmap(b []byte) error { return unix.Munmap(b) }
