package shm

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// process is the process at the other end of a socket, as the kernel
// knows it (SO_PEERCRED): it connected, or listens.
type process struct {
	pid      int32
	uid, gid uint32
	groups   []uint32 // supplementary
}

// peerOf asks the kernel.
func peerOf(c *net.UnixConn) (p process, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return p, err
	}
	var cred *unix.Ucred
	if e := raw.Control(func(fd uintptr) {
		if cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			p.groups, err = peerGroups(fd)
		}
	}); e != nil {
		err = e
	}
	if err != nil {
		return p, fmt.Errorf("shm: ask who the peer is: %w", err)
	}
	p.pid, p.uid, p.gid = cred.Pid, cred.Uid, cred.Gid
	return p, nil
}

// peerGroups returns the peer's supplementary groups (Linux 4.13).
//
// SAFETY: the kernel writes at most size bytes to groups, whole ids of 4 bytes,
// and returns their number in size, or ERANGE and the size that it needs.
func peerGroups(fd uintptr) ([]uint32, error) {
	groups := make([]uint32, 32)
	for {
		size := uint32(4 * len(groups))
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch errno {
		case 0:
			return groups[:size/4], nil
		case unix.ERANGE:
			groups = make([]uint32, size/4)
		default:
			return nil, errno
		}
	}
}

func (p process) name(prefix string) string {
	return fmt.Sprintf("%s (pid %d, uid %d)", prefix, p.pid, p.uid)
}

// source is the source whose share of a budget the peer takes. A process of root or
// of this process's own user could end this process anyway, so it is a source of
// its own: its mistakes cost no other process of the user its share. Processes of
// another user count together, since a hostile user can start any number.
func (p process) source(self uint32) string {
	if p.uid == 0 || p.uid == self {
		return fmt.Sprintf("pid %d", p.pid)
	}
	return fmt.Sprintf("uid %d", p.uid)
}

// mayConnect reports whether a socket of that mode, owner and group is for the
// peer.
func (p process) mayConnect(mode fs.FileMode, uid, gid uint32) bool {
	switch {
	case p.uid == 0, mode&0o002 != 0:
		return true
	case p.uid == uid:
		return mode&0o200 != 0
	}
	return mode&0o020 != 0 && (p.gid == gid || slices.Contains(p.groups, gid))
}

// admit refuses users that SocketMode excludes. The kernel has refused them
// already, unless the socket's file was opened to more users after its
// creation; its group may be changed.
func (l *listener) admit(p process) error {
	file := l.file
	if now, err := os.Lstat(l.addr); err == nil && os.SameFile(now, l.file) {
		file = now
	}
	st := file.Sys().(*syscall.Stat_t)
	mode := l.dev.opt.SocketMode
	if p.mayConnect(mode, st.Uid, st.Gid) {
		return nil
	}
	return fmt.Errorf("%w: uid %d may not connect: the socket's mode is %04o, its owner uid %d, its group gid %d",
		errAdmit, p.uid, mode, st.Uid, st.Gid)
}
