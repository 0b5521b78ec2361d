//go:build linux

package rounds

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/catfish-index/catfish/bench/netns"
)

// Options say how rounds are run.
type Options struct {
	Bin string // directory of catfish and catfish-coordinator
	// Program is the command of a process of clients, which calls UsersMain.
	Program []string
	Faults  []Fault
	// Groups that have one store together, between which slots move; 0, 1: one group, which has
	// a store of its own.
	Groups int
	// Fenced: a stale read of a Go client breaks a promise. Else it is counted.
	Fenced bool
	// Trace, if not nil, gets what happens to the group, and in the end what members have said.
	Trace io.Writer
	// Clocks of members differ. The machine must have time namespaces.
	clocks bool
}

// Prepare looks at what this machine can do. An error says why no round is possible;
// missing is what will be left out.
func (o *Options) Prepare(ctx context.Context) (missing []string, err error) {
	for _, name := range []string{"catfish", "catfish-coordinator"} {
		if _, err := os.Stat(filepath.Join(o.Bin, name)); err != nil {
			return nil, fmt.Errorf("rounds: %w ('make build' builds it)", err)
		}
	}
	if o.Groups < 0 || o.Groups > maxGroups {
		return nil, fmt.Errorf("rounds: %d groups, want 1 to %d", o.Groups, maxGroups)
	}
	if o.Bin, err = filepath.Abs(o.Bin); err != nil {
		return nil, err
	}
	if err := netns.SwitchAvailable(ctx); err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "unshare", "--time", "--boottime", "1000000", "cat", "/proc/uptime").CombinedOutput()
	if o.clocks = err == nil && len(out) > 0; !o.clocks {
		missing = append(missing, fmt.Sprintf("clocks of members that differ: no time namespaces: %v: %s", err, strings.TrimSpace(string(out))))
	}
	return missing, nil
}
