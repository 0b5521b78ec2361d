//go:build unix

package soft

import (
	"os"

	"golang.org/x/sys/unix"
)

// alloc maps size zeroed bytes from a page boundary on. The kernel allocates
// memory page by page as it is touched, so a large region that is mostly
// empty costs little, and the garbage collector never sees it.
func alloc(size int) (mem []byte, free func(), err error) {
	b, err := unix.Mmap(-1, 0, roundUp(size, os.Getpagesize()),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	// Munmap of a mapping that Mmap returned cannot fail.
	return b[:size:size], func() { _ = unix.Munmap(b) }, nil
}
