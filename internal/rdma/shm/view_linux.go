package shm

import (
	"sync"

	"golang.org/x/sys/unix"
)

// view is a peer's region, or its table, in this process. All queue pairs
// that read one region use one view: each page is faulted in once, and the
// processor needs one translation for it. For a tree of 115 MB each separate
// view would cost 1,800 page faults of several microseconds, and page tables
// of 230 KB.
//
// A region is identified by its file: while a view exists the kernel gives
// the inode's number to no other (Linux 5.9; before, after 2^32 files). Only
// mappings for reading are shared: the kernel decides, each time, whether a
// descriptor may be mapped for writing.
type view struct {
	mem  []byte
	key  viewKey
	uses int  // guarded by views
	own  bool // of one queue pair alone
}

type viewKey struct {
	dev, ino uint64
	size     int
}

var views = struct {
	sync.Mutex
	of map[viewKey]*view
}{of: map[viewKey]*view{}}

// viewReceived is a view of the first size bytes of a file that a peer sent,
// after making sure that it cannot shrink. It does not close fd.
func viewReceived(fd, size int, writable bool) (*view, error) {
	st, err := checkReceived(fd, size)
	if err != nil {
		return nil, err
	}
	k := viewKey{st.Dev, st.Ino, size}
	if writable {
		mem, err := mapChecked(fd, size, true)
		return &view{mem: mem, own: true}, err
	}
	views.Lock()
	defer views.Unlock()
	v := views.of[k]
	if v == nil {
		mem, err := mapChecked(fd, size, false)
		if err != nil {
			return nil, err
		}
		v = &view{mem: mem, key: k}
		views.of[k] = v
	}
	v.uses++
	return v, nil
}

// release releases a view; the last user unmaps it.
func (v *view) release() {
	if v.own {
		_ = unix.Munmap(v.mem)
		return
	}
	views.Lock()
	defer views.Unlock()
	if v.uses--; v.uses == 0 {
		delete(views.of, v.key)
		_ = unix.Munmap(v.mem)
	}
}
