package rstar

import "golang.org/x/sys/unix"

// adviseHuge asks for huge pages: every node read of a large tree is on
// another page, and a page walk costs as much as the read. The system may
// have none; nothing changes then but speed.
func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
