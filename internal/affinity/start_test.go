package affinity

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// startArg makes this test binary a process that confines itself to the first of
// two cores and starts one on the second.
const startArg = "pin-and-start="

func pinAndStart(list string) error {
	first, second, _ := strings.Cut(list, ",")
	own, err := Parse(first)
	if err != nil {
		return err
	}
	if err := Reexec(own); err != nil {
		return err
	}
	other, err := Parse(second)
	if err != nil {
		return err
	}
	cmd := exec.Command(os.Args[0], pinnedArg+second)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := Start(cmd, other); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return err
	}
	// A thread that kept the other's mask would show in one of 100 looks.
	for range 100 {
		runtime.Gosched()
		if avail, err := Available(); err != nil || avail.String() != own.String() {
			return fmt.Errorf("after Start the process may use %s, want %s (%v)", avail, own, err)
		}
	}
	return nil
}

// TestStart: a process may get other cores than the one that starts it.
func TestStart(t *testing.T) {
	avail, err := Available()
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "linux" {
		avail = nil
	}
	for _, own := range avail {
		for _, other := range avail {
			out, err := exec.Command(os.Args[0], fmt.Sprintf("%s%d,%d", startArg, own, other)).CombinedOutput()
			if want := fmt.Sprintf("%d 1\n", other); err != nil || string(out) != want {
				t.Errorf("from core %d on core %d: saw %q (%v), want %q", own, other, out, err, want)
			}
		}
		if own > 2 {
			break // Enough pairs.
		}
	}
	var out bytes.Buffer
	cmd := exec.Command(os.Args[0], pinnedArg)
	cmd.Stdout = &out
	if err := Start(cmd, nil); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.HasPrefix(out.String(), avail.String()) {
		t.Errorf("on no particular cores: %q, %v", out.String(), err)
	}
	if err := Start(exec.Command("/does/not/exist"), Set{MaxCPU}); err == nil || errors.Is(err, os.ErrNotExist) && runtime.GOOS == "linux" {
		t.Errorf("on core %d: %v", MaxCPU, err)
	}
}
