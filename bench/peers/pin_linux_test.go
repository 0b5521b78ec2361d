package peers

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// pinThread keeps the calling goroutine on one core until undo. Package
// affinity confines whole processes; a searcher and a writer of one
// process need a core each.
func pinThread(core int) (undo func(), err error) {
	runtime.LockOSThread()
	var before, one unix.CPUSet
	one.Set(core)
	err = unix.SchedGetaffinity(0, &before)
	if err == nil {
		err = unix.SchedSetaffinity(0, &one)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("pinning a thread to core %d: %w", core, err)
	}
	return func() {
		// When this fails, the thread stays pinned: it must not return to the
		// scheduler, so it stays locked and exits.
		if unix.SchedSetaffinity(0, &before) == nil {
			runtime.UnlockOSThread()
		}
	}, nil
}
