//go:build unix

package rstar

import "golang.org/x/sys/unix"

// mapSlab returns zeroed, page-aligned memory outside the Go heap, which the
// garbage collector need not scan. Pages are allocated when touched.
func mapSlab(bytes int64) ([]byte, error) {
	return unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
}

func unmapSlab(b []byte) error { return unix.Munmap(b) }
