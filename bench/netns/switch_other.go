//go:build !linux

package netns

import (
	"context"
	"fmt"
	"runtime"
)

// SwitchAvailable returns an error that wraps ErrUnavailable: a Switch needs Linux.
func SwitchAvailable(context.Context) error {
	return fmt.Errorf("%w: a switch needs Linux, not %s", ErrUnavailable, runtime.GOOS)
}
