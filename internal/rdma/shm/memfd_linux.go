package shm

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// sizeSeals fix a file's size, and the seals themselves, permanently. With
// them a mapping cannot be truncated by another process; without them an
// access to it could raise SIGBUS. Files of a tmpfs mount cannot carry them,
// so no quota of a mount applies either.
const sizeSeals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// tmpfsMagic is what statfs(2) returns for a memfd of ordinary pages. Huge
// pages return something else; a fault in those may raise SIGBUS when the
// pool is empty, so they are refused.
const tmpfsMagic = unix.TMPFS_MAGIC

var (
	pageBytes = os.Getpagesize()

	errSeals = errors.New("shm: received memory is not sealed against resizing")
	errSize  = errors.New("shm: received memory has the wrong size")
)

// createMemory makes a sparse memory file of size bytes and maps it writable.
// With readOnly no later mapping can be writable (the seal exempts the
// existing one): Linux 5.1. The caller owns fd and mem.
func createMemory(name string, size int, readOnly bool) (fd int, mem []byte, err error) {
	fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, nil, fmt.Errorf("memfd_create: %w", err)
	}
	fail := func(what string, err error) (int, []byte, error) {
		if mem != nil {
			_ = unix.Munmap(mem)
		}
		_ = unix.Close(fd)
		return -1, nil, fmt.Errorf("%s of %d bytes: %w", what, size, err)
	}
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return fail("ftruncate", err)
	}
	mem, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fail("mmap", err)
	}
	seals := sizeSeals
	if readOnly {
		seals |= unix.F_SEAL_FUTURE_WRITE
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return fail("seal", err)
	}
	return fd, mem, nil
}

// readOnlyFd turns a memory file's descriptor into one that is open for
// reading only.
func readOnlyFd(fd int) (int, error) {
	ro, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("reopen read-only: %w", err)
	}
	_ = unix.Close(fd)
	return ro, nil
}

// mapReceived maps the first size bytes of a file that a peer sent,
// after making sure that it cannot shrink. It does not close fd.
func mapReceived(fd, size int, writable bool) ([]byte, error) {
	if _, err := checkReceived(fd, size); err != nil {
		return nil, err
	}
	return mapChecked(fd, size, writable)
}

// checkReceived refuses a file that is not memory of at least that size, or
// could shrink.
func checkReceived(fd, size int) (st unix.Stat_t, err error) {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return st, fmt.Errorf("%w: not a memory file: %w", errSeals, err)
	}
	if seals&sizeSeals != sizeSeals {
		return st, fmt.Errorf("%w: seals %#x, need %#x", errSeals, seals, sizeSeals)
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil || int64(fs.Type) != tmpfsMagic {
		return st, fmt.Errorf("%w: file system %#x, need %#x", errSeals, fs.Type, tmpfsMagic)
	}
	if err := unix.Fstat(fd, &st); err != nil {
		return st, fmt.Errorf("%w: %w", errSize, err)
	}
	if size <= 0 || int64(size) > st.Size {
		return st, fmt.Errorf("%w: %d bytes, need %d", errSize, st.Size, size)
	}
	return st, nil
}

func mapChecked(fd, size int, writable bool) ([]byte, error) {
	prot := unix.PROT_READ
	if writable {
		prot |= unix.PROT_WRITE
	}
	mem, err := unix.Mmap(fd, 0, size, prot, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("shm: map received memory of %d bytes: %w", size, err)
	}
	return mem, nil
}

// pages rounds up to whole pages.
func pages(n int) int { return (n + pageBytes - 1) / pageBytes * pageBytes }
