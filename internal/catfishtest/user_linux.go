package catfishtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Stranger is the number of a user that owns nothing.
const Stranger = 54321

// AsUser runs f on a thread of another user, so that the kernel makes that user
// the owner of the sockets that f makes. The thread ends with f.
func AsUser(t *testing.T, uid int, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("CATFISH_NO_SKIP") == "1" {
			t.Fatal("needs root, to be another user")
		}
		t.Skip("needs root, to be another user")
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		_, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid))
		if errno == 0 {
			f()
			done <- nil
			return
		}
		done <- errno
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// OpenUp lets other users enter the directories above a test's.
func OpenUp(t *testing.T, dir string) {
	t.Helper()
	for d := filepath.Dir(dir); d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// Place makes a directory with this mode, whatever the umask.
func Place(t *testing.T, mode fs.FileMode) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}
