package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// The socket of shm is trusted by its place: only root and this server's user
// may put another socket there. The server tries these places, in order:
//
//	$XDG_RUNTIME_DIR   made by the login for this user alone (0700)
//	/run/user/UID      the same, where the variable was lost
//	/run               of root alone
//	the temp dir       of all; its sticky bit protects what is in it
//
// There the server makes directory catfish-UID, and the socket in it, named
// after the TCP port. If the socket's mode admits other users the directory is
// open to them, and the server skips places that they cannot enter.

// errSocketDir means that another user could replace the socket.
var errSocketDir = errors.New("unsafe directory for a socket")

// socketPlaces lists where a server's socket may be.
type socketPlaces struct {
	uid     uint32 // this server's user
	parents []string
}

func theSocketPlaces() socketPlaces {
	uid := os.Geteuid()
	return socketPlaces{uint32(uid), []string{
		os.Getenv("XDG_RUNTIME_DIR"), filepath.Join("/run/user", strconv.Itoa(uid)), "/run", os.TempDir(),
	}}
}

// defaultSocket returns the path of the socket for a server at addr, and makes
// the directory.
func defaultSocket(addr net.Addr, mode fs.FileMode) (string, error) {
	return theSocketPlaces().socket(addr.(*net.TCPAddr).Port, mode)
}

func (p socketPlaces) socket(port int, mode fs.FileMode) (string, error) {
	var why error
	for _, parent := range p.parents {
		if parent == "" {
			continue
		}
		if err := p.parent(parent, mode); err != nil {
			why = errors.Join(why, err)
			continue
		}
		dir := filepath.Join(parent, fmt.Sprintf("catfish-%d", p.uid))
		if err := p.makeDir(dir, dirMode(mode)); err != nil {
			return "", err
		}
		return filepath.Join(dir, strconv.Itoa(port)+".sock"), nil
	}
	return "", fmt.Errorf("no place for shm's socket of mode %04o, name one: %w", mode, why)
}

// dirMode is the mode of a directory that the users admitted by a socket can enter.
func dirMode(socket fs.FileMode) fs.FileMode {
	dir := fs.FileMode(0o700)
	if socket&0o020 != 0 {
		dir |= 0o050
	}
	if socket&0o002 != 0 {
		dir |= 0o005
	}
	return dir
}

// parent checks that other users cannot replace a directory in dir, and can
// enter dir if the mode admits them.
func (p socketPlaces) parent(dir string, mode fs.FileMode) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	st := info.Sys().(*syscall.Stat_t)
	switch perm := info.Mode(); {
	case !info.IsDir():
		return fmt.Errorf("%w: %s is not a directory", errSocketDir, dir)
	case st.Uid != p.uid && st.Uid != 0:
		return fmt.Errorf("%w: %s belongs to uid %d, this is uid %d", errSocketDir, dir, st.Uid, p.uid)
	case perm&0o022 != 0 && perm&fs.ModeSticky == 0:
		return fmt.Errorf("%w: others may replace what is in %s, its mode is %v", errSocketDir, dir, perm)
	case mode&0o002 != 0 && perm&0o001 == 0, mode&0o020 != 0 && perm&0o001 == 0 && (perm&0o010 == 0 || st.Gid != uint32(os.Getegid())):
		return fmt.Errorf("%w: others may not enter %s, its mode is %v", errSocketDir, dir, perm)
	}
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return &fs.PathError{Op: "write to", Path: dir, Err: err}
	}
	return nil
}

// makeDir makes the directory, or takes it if it is this user's and no other
// user can write to it. Its mode becomes wider if need be, never narrower:
// another server of this user may need it, and each socket has its own mode.
func (p socketPlaces) makeDir(dir string, mode fs.FileMode) error {
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return fmt.Errorf("%w: %s is not a directory; remove it, or name a socket elsewhere", errSocketDir, dir)
	}
	if err != nil {
		return &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: dir, Err: err}
	}
	perm := fs.FileMode(st.Mode) & fs.ModePerm
	switch {
	case st.Uid != p.uid:
		return fmt.Errorf("%w: %s belongs to uid %d, this is uid %d; name a socket elsewhere",
			errSocketDir, dir, st.Uid, p.uid)
	case perm&0o022 != 0:
		return fmt.Errorf("%w: others may write to %s, its mode is %04o; change it to %04o",
			errSocketDir, dir, perm, mode)
	case perm|mode != perm: // the umask, or another server's socket
		if err := unix.Fchmod(fd, uint32(perm|mode)); err != nil {
			return &fs.PathError{Op: "chmod", Path: dir, Err: err}
		}
	}
	return nil
}
