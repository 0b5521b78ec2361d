package mapped

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// OpenShared maps a file for reading and writing, which all processes of the user share that
// name it. If there is none it makes one, of that size, which begins with head and has
// zeros behind. Unmap frees the mapping.
//
// The file is a regular one, no symbolic link, belongs to this user, and no other user may read or write it;
// else the error wraps ErrNotOurs. Its content is whatever these processes have written: the
// caller checks it. None may shorten the file while others have it mapped (SIGBUS).
//
// No process waits for another: a file appears under its name with size and head, by a link
// that only one can make. One that dies before leaves a file of another name.
func OpenShared(path string, bytes int64, head []byte) (mem []byte, err error) {
	for range openTries {
		if mem, err = openShared(path); !errors.Is(err, fs.ErrNotExist) {
			return mem, err
		}
		if err = makeShared(path, bytes, head); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("mapped: %s was removed each time it was made: %w", path, err)
}

// openTries bounds how often a file is removed between being made and opened.
const openTries = 10

func openShared(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%w: %s is a symbolic link", ErrNotOurs, path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st := info.Sys().(*syscall.Stat_t) // as on all Linux systems
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s is no regular file, but %v", ErrNotOurs, path, info.Mode())
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%w: others may use %s, its mode is %04o, want 0600", ErrNotOurs, path, info.Mode().Perm())
	}
	if err := checkOwner(path, st.Uid); err != nil {
		return nil, err
	}
	if info.Size() == 0 {
		return nil, nil // Nothing can be mapped.
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, &fs.PathError{Op: "mmap", Path: path, Err: err}
	}
	return mem, nil
}

func checkOwner(path string, uid uint32) error {
	if int(uid) != os.Geteuid() {
		return fmt.Errorf("%w: %s belongs to uid %d, this is uid %d", ErrNotOurs, path, uid, os.Geteuid())
	}
	return nil
}

func makeShared(path string, bytes int64, head []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".catfish-*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // A file that stays only takes room.
	defer f.Close()
	// Blocks that are not there would be a SIGBUS at a store, once the file system is full.
	if err := unix.Fallocate(int(f.Fd()), 0, 0, bytes); err != nil {
		return &fs.PathError{Op: fmt.Sprintf("reserve %d bytes of", bytes), Path: path, Err: err}
	}
	if _, err := f.WriteAt(head, 0); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}
