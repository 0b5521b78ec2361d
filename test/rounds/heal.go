//go:build linux

package rounds

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// fillerName is the file that makes a disk full.
const fillerName = "filler"

// heal ends all faults: networks, disks and stopped processes are as before, and what has
// ended starts again, as a supervisor would start it.
func (c *cluster) heal(ctx context.Context) error {
	c.net.Heal()
	for _, m := range c.members {
		if err := os.Remove(filepath.Join(m.home, fillerName)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if m.runs() {
			_ = m.p.Load().Signal(syscall.SIGCONT) // One that ends now is started below.
		}
	}
	select {
	case <-c.coordinator.Ended():
		return c.startCoordinator(ctx)
	default:
		return nil
	}
}

// errNotWhole: the group did not recover.
var errNotWhole = errors.New("rounds: the group is not whole again")

// maxStarts bounds how often a member is started that ends again.
const maxStarts = 5

// whole waits until all members are in sync and one of each group serves. Members that have ended
// or failed are started again. If one refuses its damaged directory, it gets a new one.
func (c *cluster) whole(ctx context.Context, damaged *member, note func(format string, args ...any)) (groups, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	starts := map[*member]int{}
	var g groups
	var err error
	for ctx.Err() == nil {
		for _, m := range c.present() {
			if m.runs() {
				continue
			}
			if starts[m]++; starts[m] > maxStarts {
				return g, fmt.Errorf("%w: %s ends by itself: %s", errNotWhole, m.Node, m.tail())
			}
			if m == damaged && starts[m] > 1 {
				note("%s refused its damaged files: %s", m.Node, m.tail())
				if err := os.RemoveAll(m.data()); err != nil {
					return g, err
				}
				m.copies++
			}
			if err := c.start(m); err != nil {
				return g, err
			}
		}
		if g, err = c.status(ctx); err == nil {
			if c.isWhole(g) {
				return g, nil
			}
			for _, m := range c.present() {
				if g.of(m.group).role(m.Node) == "failed" {
					note("%s takes part no more, and is started again: %s", m.Node, m.tail())
					if err := m.kill(); err != nil {
						return g, err
					}
				}
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	tails := ""
	for _, m := range c.present() {
		tails += fmt.Sprintf("; %s: %s", m.Node, m.tail())
	}
	return g, fmt.Errorf("%w in %v: %v, %w%s", errNotWhole, startTime, g, errors.Join(err, context.Cause(ctx)), tails)
}

func (c *cluster) isWhole(all groups) bool {
	for _, m := range c.present() {
		g := all.of(m.group)
		role := g.role(m.Node)
		if !slices.Contains(g.InSync, m.Node) || role != "primary" && role != "secondary" || (role == "primary") != (g.Primary == m.Node) ||
			len(g.Members) != len(c.of(m.group)) {
			return false
		}
	}
	return true
}
