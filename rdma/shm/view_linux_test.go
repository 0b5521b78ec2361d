package shm

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// TestViews: what is one file is one view, as long as somebody uses it; and
// a view for reading is not one for writing.
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
	a, b, w := see(fd, false), see(again, false), see(fd, true)
	if a != b || a == w {
		t.Errorf("views %p, %p of one file, %p for writing", a, b, w)
	}
	w.mem[7] = 42
	if a.mem[7] != 42 || mem[7] != 42 {
		t.Error("the views are not of the file")
	}
	a.release()
	if b.mem[7] != 42 { // would fault
		t.Error("the view of another is gone")
	}
	b.release()
	w.release()
	views.Lock()
	left := len(views.of)
	views.Unlock()
	if left != 0 {
		t.Errorf("%d views are left", left)
	}
	if _, err := viewReceived(fd, size+1, false); !errors.Is(err, errSize) {
		t.Errorf("a view beyond the file: %v", err)
	}
}
