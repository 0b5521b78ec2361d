//go:build !linux

package remote

import (
	"errors"
	"time"
)

func readMachineClock(func() time.Duration) (machineClock, error) {
	return machineClock{}, errors.ErrUnsupported
}
