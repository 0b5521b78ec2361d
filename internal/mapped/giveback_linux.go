package mapped

import "golang.org/x/sys/unix"

// GiveBack returns the pages of b, which begins and ends at pages, to the
// system. They read as zeros from then on, for all processes that have mapped
// them, and stay usable. It may do nothing.
func GiveBack(b []byte) {
	if unix.Madvise(b, unix.MADV_REMOVE) != nil { // of a file: shared memory
		_ = unix.Madvise(b, unix.MADV_DONTNEED) // private
	}
}
