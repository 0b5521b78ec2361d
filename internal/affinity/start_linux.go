package affinity

import (
	"fmt"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// Start starts cmd, which confines itself to the cores of s (Reexec). A process
// inherits the cores of its parent, and Reexec takes no others; so if this
// process may not use all of s, the new one begins with s. The system refuses
// cores outside the control group. If s is empty, Start is cmd.Start.
func Start(cmd *exec.Cmd, s Set) error {
	avail, err := Available()
	if err != nil || len(s) == 0 || s.Within(avail) == nil {
		return cmd.Start()
	}
	var wide, own unix.CPUSet
	for _, c := range s {
		wide.Set(c)
	}
	done := make(chan error, 1)
	// The new process inherits the mask of the thread that starts it.
	go func() {
		runtime.LockOSThread()
		if err := unix.SchedGetaffinity(0, &own); err != nil {
			done <- fmt.Errorf("affinity: reading the core mask: %w", err)
			return
		}
		if err := unix.SchedSetaffinity(0, &wide); err != nil {
			done <- fmt.Errorf("affinity: a process on cores %s: %w", s, err)
			return
		}
		err := cmd.Start()
		if unix.SchedSetaffinity(0, &own) == nil {
			runtime.UnlockOSThread() // Else the thread ends with this goroutine.
		}
		done <- err
	}()
	return <-done
}
