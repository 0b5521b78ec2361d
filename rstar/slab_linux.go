package rstar

import "golang.org/x/sys/unix"

// adviseHuge asks for huge pages: every node read of a large tree is on
// another page, and a page walk costs a fifth of the read. The system may
// have none (for shared memory see shmem_enabled of transparent_hugepage), or
// b may not begin at a page boundary; then only speed is affected.
func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
