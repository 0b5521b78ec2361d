package disk

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const lockName = "LOCK"

// lock makes this process the only one that has the directory open.
func lock(fs vfs.FS, dir string) (io.Closer, error) {
	name := fs.PathJoin(dir, lockName)
	l, err := fs.Lock(name)
	if err == nil {
		return l, nil
	}
	who := ""
	// To close a descriptor of a file gives up all of the process's own locks
	// on it, so the file is not looked at if this process holds it.
	if fs == vfs.Default && !strings.Contains(err.Error(), "current process") {
		if f, err := os.Open(name); err == nil {
			if pid := lockHolder(f); pid > 0 {
				who = fmt.Sprintf(" by process %d", pid)
			}
			f.Close()
		}
	}
	if who != "" { // The system's text has nothing else.
		return nil, fmt.Errorf("%w%s: %s", ErrLocked, who, dir)
	}
	return nil, fmt.Errorf("%w%s: %s: %w", ErrLocked, who, dir, err)
}
