package mapped

import "golang.org/x/sys/unix"

// AdviseHuge asks for huge pages: each random read is on another page, and the
// walk to it through the page table costs a fifth of a tree node's read, a
// quarter of a key's lookup, and nearly half of a lookup among many at once.
// The system may have none (for shared memory see shmem_enabled of
// transparent_hugepage), or b may not begin at a page boundary; then only speed
// is affected.
//
// A huge page that is touched takes HugeBytes.
func AdviseHuge(b []byte) {
	if len(b) > 0 {
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	}
}
