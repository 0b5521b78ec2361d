//go:build unix

package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockHolder is the process that holds a lock on f, or 0.
func lockHolder(f *os.File) int {
	l := unix.Flock_t{Type: unix.F_RDLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &l); err != nil || l.Type == unix.F_UNLCK {
		return 0
	}
	return int(l.Pid)
}
