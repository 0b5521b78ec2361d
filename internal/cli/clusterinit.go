package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/placement"
)

// ClusterMap is which group has how much of a store, as 'cluster status --json' prints it.
type ClusterMap struct {
	Version uint64       `json:"version"`
	Epoch   uint64       `json:"epoch"` // the version at which a slot had another owner last
	Groups  []ClusterHas `json:"groups"`
}

// ClusterHas is the part of a group.
type ClusterHas struct {
	Name   string `json:"name"`
	Weight int    `json:"weight"`
	Slots  int    `json:"slots"`
}

// clusterMap is nil if each group has a store of its own.
func clusterMap(m *placement.Map) *ClusterMap {
	if m == nil {
		return nil
	}
	c := &ClusterMap{Version: m.Version, Epoch: m.Epoch, Groups: make([]ClusterHas, len(m.Groups))}
	for i, g := range m.Groups {
		c.Groups[i] = ClusterHas{Name: g.Name, Weight: int(g.Weight)}
	}
	for _, g := range m.Slots {
		c.Groups[g].Slots++
	}
	return c
}

func (c *ClusterMap) text() string {
	if c == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "map of version %d, epoch %d:", c.Version, c.Epoch)
	for i, g := range c.Groups {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " group %s has %d of %d slots", g.Name, g.Slots, placement.Slots)
	}
	b.WriteByte('\n')
	return b.String()
}

func newClusterInit(a *App) *cobra.Command {
	var f coordinatorFlags
	c := &cobra.Command{
		Use:   "init GROUP[:WEIGHT]...",
		Short: "Let several groups have one store together, before they are started",
		Long: `Let several groups have one store together: each gets its share of 4,096 slots, by weight (1 to
100, 1 if there is none), and with a slot the features and records whose ids fall into it.
Do this before the groups are started. What several groups cannot do yet is in docs/cluster.md.`,
		Example: `  catfish cluster init g1 g2 g3 --coordinators 10.0.0.1:7120
  catfish cluster init small:1 large:3 --coordinators 10.0.0.1:7120`,
		Args: Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			groups := make([]placement.Group, len(args))
			for i, arg := range args {
				name, weight, has := strings.Cut(arg, ":")
				groups[i] = placement.Group{Name: name, Weight: 1}
				if !has {
					continue
				}
				w, err := strconv.ParseUint(weight, 10, 8)
				if err != nil || w > placement.MaxWeight {
					return BadUsage("weight %q of group %q, want 0 to %d", weight, name, placement.MaxWeight)
				}
				groups[i].Weight = uint8(w)
			}
			cl, err := f.dial()
			if err != nil {
				return err
			}
			defer cl.Close()
			ctx, cancel := context.WithTimeout(cmd.Context(), clusterTime)
			defer cancel()
			m, err := cluster.Init(ctx, cl, groups)
			if err != nil {
				return err
			}
			return a.Printf("%s", clusterMap(m).text())
		},
	}
	f.register(c)
	return c
}
