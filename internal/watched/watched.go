// Package watched detects changes of files, by looking at them. Unlike
// notifications of the kernel that also works for files that are replaced, for
// links (as Kubernetes mounts secrets) and on network file systems.
package watched

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Files are some files. The method is safe for concurrent use.
type Files struct {
	mu    sync.Mutex
	names []string
	last  []state
}

// state changes with a file. For other content of the same size within the
// clock of the file system (some ms), the inode differs if the file was
// replaced, as it should be.
type state struct {
	info fs.FileInfo // nil: it could not be looked at
	mod  time.Time
	size int64
}

// New returns the files as they are now. Empty names are left out.
func New(names ...string) *Files {
	f := &Files{}
	for _, n := range names {
		if n != "" {
			f.names = append(f.names, n)
		}
	}
	f.last, _ = f.look()
	return f
}

func (f *Files) look() (now []state, err error) {
	for _, n := range f.names {
		info, e := os.Stat(n)
		if e != nil {
			err = errors.Join(err, e)
			now = append(now, state{})
			continue
		}
		now = append(now, state{info, info.ModTime(), info.Size()})
	}
	return now, err
}

// Changed reports whether one of the files has changed since the last call, and
// why one of them cannot be looked at now.
func (f *Files) Changed() (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := f.look()
	changed := false
	for i := range now {
		a, b := f.last[i], now[i]
		same := (a.info == nil) == (b.info == nil) &&
			(a.info == nil || a.mod.Equal(b.mod) && a.size == b.size && os.SameFile(a.info, b.info))
		changed = changed || !same
	}
	f.last = now
	return changed, err
}
