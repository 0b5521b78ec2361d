package spin

import "syscall"

// osYield lets another thread have this core, if one is ready.
func osYield() { _, _, _ = syscall.Syscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
