//go:build linux

package rounds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench/netns"
)

// group is what 'catfish cluster status --json' prints of a group.
type group struct {
	Primary string   `json:"primary"`
	Term    uint64   `json:"term"`
	InSync  []string `json:"in_sync"`
	Members []struct {
		Node  string `json:"node"`
		Role  string `json:"role"`
		Error string `json:"error"`
	} `json:"members"`
}

func (g *group) role(node string) string {
	for _, m := range g.Members {
		if m.Node == node {
			return m.Role
		}
	}
	return ""
}

func (g *group) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "term %d, primary %s, in sync %v", g.Term, g.Primary, g.InSync)
	for _, m := range g.Members {
		fmt.Fprintf(&b, ", %s: %s", m.Node, m.Role)
	}
	return b.String()
}

// operate runs 'catfish cluster' as an operator would, beside the coordinator.
func (c *cluster) operate(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	all := netns.Inside(c.net.Namespace(portCoordinator), append([]string{filepath.Join(c.o.Bin, "catfish"), "cluster"}, args...)...)
	all = append(all, "--coordinators", c.coordinatorAddr())
	cmd := exec.CommandContext(ctx, all[0], all[1:]...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("rounds: catfish cluster %s: %s", strings.Join(args, " "), strings.TrimSpace(string(exit.Stderr)))
	}
	return out, err
}

func (c *cluster) status(ctx context.Context) (*group, error) {
	out, err := c.operate(ctx, "status", "--json")
	if err != nil {
		return nil, err
	}
	var all struct {
		Groups []*group `json:"groups"`
	}
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, fmt.Errorf("rounds: %q: %w", out, err)
	}
	if len(all.Groups) != 1 {
		return nil, fmt.Errorf("rounds: %d groups", len(all.Groups))
	}
	return all.Groups[0], nil
}
