package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/internal/cuckoo"
)

// clockTries: of several attempts the one counts in which least time went by between the
// readings, so that one during which the thread had to wait does not.
const clockTries = 16

func readMachineClock(local func() time.Duration) (c machineClock, err error) {
	start, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return c, fmt.Errorf("kv/remote: the machine's start: %w", err)
	}
	space, err := os.Readlink("/proc/self/ns/time")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // before Linux 5.6: one for all
		return c, fmt.Errorf("kv/remote: the clock's namespace: %w", err)
	}
	c.name = cuckoo.Hash(uint64(len(start)), append(start, space...))
	for i := range clockTries {
		var ts unix.Timespec
		before := local()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			return c, fmt.Errorf("kv/remote: the machine's clock: %w", err)
		}
		after := local()
		if within := after - before; i == 0 || within < c.within {
			c.ahead, c.within = time.Duration(ts.Nano())-after, within
		}
	}
	return c, nil
}
