package affinity

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// On runs functions on one core, many at a time, and leaves the process's first thread and
// its other threads as they were.
func TestOn(t *testing.T) {
	avail, err := Available()
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 20 {
		cpu := avail[i%len(avail)]
		all.Go(func() {
			why := errors.New("f's")
			err := On(cpu, func() error {
				if s, err := Available(); err != nil || !slices.Equal(s, Set{cpu}) {
					t.Errorf("on core %d: may use %v, %v", cpu, s, err)
				}
				if unix.Gettid() == unix.Getpid() {
					t.Error("on the first thread")
				}
				return why
			})
			if !errors.Is(err, why) {
				t.Errorf("got %v", err)
			}
		})
	}
	all.Wait()
	var first unix.CPUSet
	if err := unix.SchedGetaffinity(unix.Getpid(), &first); err != nil || first.Count() != len(avail) {
		t.Errorf("the first thread may use %d cores of %d, %v", first.Count(), len(avail), err)
	}
	if err := On(MaxCPU, func() error { return nil }); !errors.Is(err, ErrUnavailable) {
		t.Errorf("core %d: %v", MaxCPU, err)
	}
}
