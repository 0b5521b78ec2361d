package mapped

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenShared: two mappings of a file are one memory, which begins as it was made.
func TestOpenShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shared")
	a, err := OpenShared(path, 10_000, []byte("head"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := OpenShared(path, 20_000, []byte("other"))
	if err != nil {
		t.Fatal(err)
	}
	if len(a) != 10_000 || len(b) != 10_000 || !bytes.Equal(b, append([]byte("head"), make([]byte, 9996)...)) {
		t.Errorf("%d and %d bytes, which begin with %q", len(a), len(b), b[:8])
	}
	if a[9999] = 7; b[9999] != 7 {
		t.Error("they are two memories")
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil || st.Mode != unix.S_IFREG|0o600 || st.Blocks*512 < 10_000 {
		t.Errorf("mode %o, %d blocks are reserved, %v", st.Mode, st.Blocks, err)
	}
	for _, m := range [][]byte{a, b} {
		if err := Unmap(m); err != nil {
			t.Error(err)
		}
	}
	if _, err := OpenShared(filepath.Join(path+"-none", "x"), 1, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a directory: %v", err)
	}
	if _, err := OpenShared(path+"-large", 1<<60, nil); !errors.Is(err, unix.EFBIG) && !errors.Is(err, unix.ENOSPC) {
		t.Errorf("larger than the file system: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// TestOpenSharedRefuses what others may use, or have put there.
func TestOpenSharedRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string {
		path := filepath.Join(dir, name)
		m, err := OpenShared(path, 100, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := Unmap(m); err != nil {
			t.Fatal(err)
		}
		return path
	}
	chmod := func(path string, mode os.FileMode) string {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file("target"), link); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, fifo, chmod(file("group"), 0o620), chmod(file("others"), 0o604)} {
		if _, err := OpenShared(path, 100, nil); !errors.Is(err, ErrNotOurs) {
			t.Errorf("%s: %v", path, err)
		}
	}
	stranger := file("stranger")
	if err := checkOwner(stranger, uint32(os.Geteuid())+1); !errors.Is(err, ErrNotOurs) {
		t.Errorf("of another user: %v", err)
	}
	// Root can open a stranger's file, which the kernel denies others.
	want := ErrNotOurs
	if os.Geteuid() == 0 {
		if err := os.Chown(stranger, 54321, -1); err != nil {
			t.Fatal(err)
		}
	} else {
		stranger, want = "/proc/1/mem", os.ErrPermission
	}
	if _, err := OpenShared(stranger, 100, nil); !errors.Is(err, want) {
		t.Errorf("%s of another user: %v", stranger, err)
	}
}
