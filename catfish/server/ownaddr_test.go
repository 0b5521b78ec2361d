package server

import (
	"fmt"
	"os"
	"runtime"
)

// ownAddr is the first address of a server that is stopped and started again at the
// same address. On Linux all of 127.0.0.0/8 is this machine's, so that no test of
// another process, which gets any free port, gets this port meanwhile.
func ownAddr() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1:0"
	}
	// A process number is less than 1<<22 (proc(5), pid_max).
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d:0", 1+pid>>16&0x3f, pid>>8&0xff, pid&0xff)
}
