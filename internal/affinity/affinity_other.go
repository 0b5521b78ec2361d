//go:build !linux

package affinity

import (
	"fmt"
	"runtime"
)

// Available returns all cores: this platform has no masks.
func Available() (Set, error) {
	s := make(Set, runtime.NumCPU())
	for c := range s {
		s[c] = c
	}
	return s, nil
}

// Reexec returns ErrUnsupported, or nil for the empty set.
func Reexec(s Set) error {
	if len(s) == 0 {
		return nil
	}
	return fmt.Errorf("%w (%s): cores %s", ErrUnsupported, runtime.GOOS, s)
}

// On returns ErrUnsupported.
func On(cpu int, _ func() error) error {
	return fmt.Errorf("%w (%s): a thread on core %d", ErrUnsupported, runtime.GOOS, cpu)
}
