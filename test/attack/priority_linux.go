package attack

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// beLastToRun makes all threads of this process run only on idle cores. It
// stands for clients on other machines, which take none of this one's cores.
func beLastToRun() error { return schedule(unix.SCHED_IDLE) }

// beNormal ends that.
func beNormal() error { return schedule(unix.SCHED_NORMAL) }

// schedule sets the policy of all threads.
func schedule(policy uint32) error {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("attack: %w", err)
	}
	attr := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy}
	for _, t := range tasks {
		id, err := strconv.Atoi(t.Name())
		if err == nil {
			err = unix.SchedSetAttr(id, attr, 0)
		}
		if err != nil {
			return fmt.Errorf("attack: priority of thread %s: %w", t.Name(), err)
		}
	}
	return nil
}
