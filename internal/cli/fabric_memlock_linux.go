package cli

import "golang.org/x/sys/unix"

// memlock returns the limit that the kernel applies to registrations.
func memlock() lockedMemory {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &l); err != nil {
		return lockedMemory{}
	}
	if l.Cur == unix.RLIM_INFINITY {
		return lockedMemory{Known: true, Unlimited: true}
	}
	return lockedMemory{Known: true, Bytes: l.Cur}
}
