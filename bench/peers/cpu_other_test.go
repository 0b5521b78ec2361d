//go:build !unix

package peers

import "time"

// cpuTime is unknown: rows then show core-% 0.
func cpuTime() time.Duration { return 0 }
