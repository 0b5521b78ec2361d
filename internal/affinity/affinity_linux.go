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

// On runs f on a thread of its own that only one core runs, and ends the thread with f. It is
// never the process's first thread: that one's mask counts as the process's. Threads that f
// makes Go start have the process's mask, and processes that it starts have the thread's. Errors
// wrap ErrUnavailable, or are the system's, or f's.
func On(cpu int, f func() error) error {
	avail, err := Available()
	if err != nil {
		return err
	}
	if err := (Set{cpu}).Within(avail); err != nil {
		return err
	}
	return on(cpu, f)
}

func on(cpu int, f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// While this goroutine waits, no other one gets the first thread.
			done <- on(cpu, f)
			runtime.UnlockOSThread()
			return
		}
		// Locked until the goroutine ends, which ends the thread.
		var mask unix.CPUSet
		mask.Set(cpu)
		if err := unix.SchedSetaffinity(0, &mask); err != nil {
			done <- fmt.Errorf("affinity: a thread on core %d: %w", cpu, err)
			return
		}
		done <- f()
	}()
	return <-done
}
