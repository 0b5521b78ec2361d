package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
)

// groupArg is GROUP[:WEIGHT]; without a weight it is 1.
func groupArg(arg string) (placement.Group, error) {
	name, weight, has := strings.Cut(arg, ":")
	if !has {
		return placement.Group{Name: name, Weight: 1}, nil
	}
	w, err := strconv.ParseUint(weight, 10, 8)
	if err != nil || w > placement.MaxWeight {
		return placement.Group{}, BadUsage("weight %q of group %q, want 0 to %d", weight, name, placement.MaxWeight)
	}
	return placement.Group{Name: name, Weight: uint8(w)}, nil
}

// mapCommand is one that changes the map by groups, and prints it.
func mapCommand(a *App, c *cobra.Command, then string, change func(ctx context.Context, r cluster.Registry, groups []placement.Group) (*placement.Map, error)) *cobra.Command {
	var f coordinatorFlags
	var asJSON bool
	c.RunE = func(cmd *cobra.Command, args []string) error {
		groups := make([]placement.Group, len(args))
		for i, arg := range args {
			var err error
			if groups[i], err = groupArg(arg); err != nil {
				return err
			}
		}
		return f.with(cmd.Context(), func(ctx context.Context, cl *coord.Client) error {
			m, err := change(ctx, cl, groups)
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.json(clusterMap(m))
			}
			return a.Printf("%s%s", clusterMap(m).text(), then)
		})
	}
	f.register(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// with calls f with the coordinators, for a short time.
func (f *coordinatorFlags) with(ctx context.Context, do func(context.Context, *coord.Client) error) error {
	cl, err := f.dial()
	if err != nil {
		return err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, clusterTime)
	defer cancel()
	return do(ctx, cl)
}

func newClusterInit(a *App) *cobra.Command {
	var from string
	c := mapCommand(a, &cobra.Command{
		Use:   "init GROUP[:WEIGHT]... | init --from BACKUP",
		Short: "Let several groups have one store together, before they are started",
		Long: `Let several groups have one store together: each gets its share of 4,096 slots, by weight (1 to
100, 1 if there is none), and with a slot the features and records whose ids fall into it.
Do this before the groups are started; or with one group, also one that exists and has all:
'catfish cluster add' adds others. What several groups cannot do yet is in docs/cluster.md.

With --from it is the map of a backup of all groups (catfish backup --coordinators), for
directories that 'catfish restore' has made of it.`,
		Example: `  catfish cluster init g1 g2 g3 --coordinators 10.0.0.1:7120
  catfish cluster init small:1 large:3 --coordinators 10.0.0.1:7120
  catfish cluster init g1 --coordinators 10.0.0.1:7120      # which exists`,
		Args: func(_ *cobra.Command, args []string) error {
			if (len(args) == 0) != (from != "") {
				return BadUsage("want names of groups, or --from")
			}
			return nil
		},
	}, "", func(ctx context.Context, r cluster.Registry, groups []placement.Group) (*placement.Map, error) {
		if from == "" {
			return cluster.Init(ctx, r, groups)
		}
		m, err := cluster.ReadManifest(from)
		if err != nil {
			return nil, fmt.Errorf("--from: %w", err)
		}
		return cluster.Make(ctx, r, m.Restored())
	})
	c.Flags().StringVar(&from, "from", "", "backup of all groups, whose map is taken")
	_ = c.MarkFlagDirname("from") // fails only for an unknown flag
	return c
}

func newClusterAdd(a *App) *cobra.Command {
	return mapCommand(a, &cobra.Command{
		Use:   "add GROUP[:WEIGHT]",
		Short: "Add a group to those that have a store together, before it is started",
		Long: `Add a group to those that have a store together, with a weight (0 to 100, 1 if there is none),
before it is started. It has nothing until 'catfish cluster rebalance' moves slots to it.`,
		Example: "  catfish cluster add g4 --coordinators 10.0.0.1:7120",
		Args:    Args(cobra.ExactArgs(1)),
	}, "Start its servers, then move slots to it: catfish cluster rebalance\n",
		func(ctx context.Context, r cluster.Registry, groups []placement.Group) (*placement.Map, error) {
			return cluster.Add(ctx, r, groups[0])
		})
}

func newClusterWeigh(a *App) *cobra.Command {
	return mapCommand(a, &cobra.Command{
		Use:   "weigh GROUP:WEIGHT",
		Short: "Give a group another weight",
		Long: `Give a group another weight, 0 to 100: its share of all slots in relation to other groups' weights.
Nothing moves until 'catfish cluster rebalance'; with 0 it moves all that the group has.`,
		Example: "  catfish cluster weigh large:3 --coordinators 10.0.0.1:7120",
		Args:    Args(cobra.ExactArgs(1)),
	}, "",
		func(ctx context.Context, r cluster.Registry, groups []placement.Group) (*placement.Map, error) {
			return cluster.Weigh(ctx, r, groups[0].Name, groups[0].Weight)
		})
}
