package affinity

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Available returns the cores that the calling process may use: the
// mask that it inherited, within its cgroup's cpuset.
func Available() (Set, error) {
	var mask unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mask); err != nil {
		return nil, fmt.Errorf("affinity: reading the core mask: %w", err)
	}
	var s Set
	for c := range MaxCPU + 1 {
		if mask.IsSet(c) {
			s = append(s, c)
		}
	}
	return s, nil
}

// Reexec confines the process to the cores of s. When it is already confined
// to exactly these, or s is empty, it returns nil and the caller continues.
// Otherwise it replaces the process by a new run of the same executable with
// the same arguments and environment, and returns only errors
// (ErrUnavailable, or the system's). Call it first: it does not undo what
// the process has opened or printed.
func Reexec(s Set) error {
	if len(s) == 0 {
		return nil
	}
	avail, err := Available()
	if err != nil {
		return err
	}
	if slices.Equal(s, avail) {
		return nil
	}
	// A subset of the mask in force can always be set, and is reported
	// by Available afterwards, so the new run does not come back here.
	if err := s.Within(avail); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("affinity: finding the executable: %w", err)
	}
	var mask unix.CPUSet
	for _, c := range s {
		mask.Set(c)
	}
	// The mask belongs to a thread; execve(2) keeps the calling one's.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetaffinity(0, &mask); err != nil {
		return fmt.Errorf("affinity: pinning to cores %s: %w", s, err)
	}
	err = syscall.Exec(exe, os.Args, os.Environ())
	return fmt.Errorf("affinity: starting %s anew: %w", exe, err)
}
