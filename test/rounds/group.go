//go:build linux

package rounds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench/netns"
)

// group is what 'catfish cluster status --json' prints of a group.
type group struct {
	Name    string   `json:"name"`
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
	fmt.Fprintf(&b, "group %s: term %d, primary %s, in sync %v", g.Name, g.Term, g.Primary, g.InSync)
	for _, m := range g.Members {
		fmt.Fprintf(&b, ", %s: %s", m.Node, m.Role)
	}
	return b.String()
}

// operate runs 'catfish cluster' as an operator would, beside the coordinator.
func (c *cluster) operate(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	return c.catfish(ctx, args...)
}

// catfish is operate without an end but that of ctx, which kills the command.
func (c *cluster) catfish(ctx context.Context, args ...string) ([]byte, error) {
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

// groups are all.
type groups []*group

func (all groups) String() string {
	var b strings.Builder
	for _, g := range all {
		b.WriteString(g.String() + "; ")
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// of returns a group, nil: it does not exist.
func (all groups) of(name string) *group {
	if i := slices.IndexFunc(all, func(g *group) bool { return g.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

func (c *cluster) status(ctx context.Context) (groups, error) {
	out, err := c.operate(ctx, "status", "--json")
	if err != nil {
		return nil, err
	}
	var all struct {
		Groups groups `json:"groups"`
	}
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, fmt.Errorf("rounds: %q: %w", out, err)
	}
	for _, m := range c.present() {
		if all.Groups.of(m.group) == nil {
			return all.Groups, fmt.Errorf("rounds: group %q does not exist", m.group)
		}
	}
	return all.Groups, nil
}

// switchTo makes a member its group's primary.
func (c *cluster) switchTo(ctx context.Context, m *member) error {
	_, err := c.operate(ctx, "switch", m.Node, "--group", m.group)
	return err
}
