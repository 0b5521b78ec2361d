package harness

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/catfish-index/catfish/internal/affinity"
)

// ErrConfig is wrapped by every error about a setting of a measurement. Nothing was
// started.
var ErrConfig = errors.New("bad benchmark setting")

// Default sets a field that is zero.
func Default[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Limits against typing errors; all far beyond what one machine drives.
const (
	MaxClients  = 1 << 14
	MaxInFlight = 1 << 12
	MaxBatch    = 1 << 10
	MaxRepeat   = 1000
)

// CheckRange checks a number. Errors name it and its limits.
func CheckRange(name string, value, least, most int) error {
	if value < least || value > most {
		return fmt.Errorf("%w: %s is %d, want %d to %d", ErrConfig, name, value, least, most)
	}
	return nil
}

// CheckNames checks that names are known ones, and none is listed twice. kind is what
// they name.
func CheckNames(kind string, names, known []string) error {
	for i, n := range names {
		if !slices.Contains(known, n) {
			return fmt.Errorf("%w: unknown %s %q, want some of %s", ErrConfig, kind, n, strings.Join(known, ", "))
		}
		if slices.Contains(names[:i], n) {
			return fmt.Errorf("%w: %s %q is listed twice", ErrConfig, kind, n)
		}
	}
	return nil
}

// CheckDuration checks a measured time: it needs a few of the kernel's 4 ms ticks.
func CheckDuration(d time.Duration) error {
	if d < 10*time.Millisecond {
		return fmt.Errorf("%w: duration is %v, want at least 10ms", ErrConfig, d)
	}
	return nil
}

// CheckWarmup checks the time before the measured one.
func CheckWarmup(d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("%w: warmup is %v, want 0 or more", ErrConfig, d)
	}
	return nil
}

// CheckCores checks that this process may use the cores.
func CheckCores(server, client affinity.Set) error {
	avail, err := affinity.Available()
	if err != nil {
		return err
	}
	if err := server.Within(avail); err != nil {
		return fmt.Errorf("%w: server-cpus: %w", ErrConfig, err)
	}
	if err := client.Within(avail); err != nil {
		return fmt.Errorf("%w: client-cpus: %w", ErrConfig, err)
	}
	return nil
}

// Cores describes a list of cores in words, empty for no pinning.
func Cores(list string) string {
	if list == "" {
		return "any core"
	}
	return "core " + list
}
