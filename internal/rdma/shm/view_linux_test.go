package shm

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// TestViews: one file has one view, as long as it is used; a view for writing
// is never shared.
func TestViews(t *testing.T) {
	const size = 1 << 16
	fd, mem, err := createMemory("test", size, false)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	defer unix.Munmap(mem)
	see := func(fd int, writable bool) *view {
		t.Helper()
		v, err := viewReceived(fd, size, writable)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	again, err := unix.Dup(fd) // as a second connection would receive it
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(again)
	a, b, w, w2 := see(fd, false), see(again, false), see(fd, true), see(again, true)
	if a != b || a == w || w == w2 {
		t.Errorf("views %p, %p of one file, %p, %p for writing", a, b, w, w2)
	}
	w2.release()
	w.mem[7] = 42
	if a.mem[7] != 42 || mem[7] != 42 {
		t.Error("the views are not of the file")
	}
	a.release()
	if b.mem[7] != 42 { // would fault
		t.Error("the view of another user is gone")
	}
	b.release()
	w.release()
	views.Lock()
	left := len(views.of)
	views.Unlock()
	if left != 0 {
		t.Errorf("%d views are left", left)
	}
	ro, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ro)
	see(ro, false).release()
	if v, err := viewReceived(ro, size, true); err == nil {
		v.release()
		t.Error("what may only be read is mapped for writing")
	}
	if _, err := viewReceived(fd, size+1, false); !errors.Is(err, errSize) {
		t.Errorf("a view beyond the file: %v", err)
	}
}
