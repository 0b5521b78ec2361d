//go:build ofi

package ofi

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
)

const (
	envMemlock   = "OFI_TEST_MEMLOCK"
	memlockLimit = 64 << 10
)

// memlockChild registers more than it may lock, in a process of its own that
// root's privileges do not exempt, and prints the result.
func memlockChild() {
	if os.Getenv(envMemlock) == "" {
		return
	}
	err := syscall.Setrlimit(rlimitMemlock, &syscall.Rlimit{Cur: memlockLimit, Max: memlockLimit})
	if err == nil {
		var d rdma.Device
		if d, err = openForTest(provider()); err == nil {
			_, err = d.Register(1<<20, rdma.RemoteRead)
		}
	}
	fmt.Println(errors.Is(err, rdma.ErrRegister), err)
	os.Exit(0)
}

// TestMemlock: over verbs the error gives the limit and the number of bytes
// needed. tcp locks nothing.
func TestMemlock(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), envMemlock+"=1")
	if os.Getuid() == 0 && provider() == Verbs {
		// As udev does on a real system.
		nodes, _ := filepath.Glob("/dev/infiniband/*")
		for _, n := range nodes {
			if err := os.Chmod(n, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := "false <nil>"
	if provider() == Verbs {
		want = "RLIMIT_MEMLOCK, ulimit -l) is 65536 bytes, needed are 1048576 bytes"
	}
	if !strings.Contains(string(out), want) {
		t.Errorf("got %s, want %q", out, want)
	}
}
