package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
)

// loadFlags say by what slots are weighed.
type loadFlags struct{ how, keyFile string }

// What slots are weighed by.
const (
	byBytes = "bytes"
	byCount = "count"
)

func (f *loadFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.how, "by", byBytes, "bytes: groups say how many each slot has; count: all slots count alike, and no group is asked")
	c.Flags().StringVar(&f.keyFile, "key-file", "", "file with the key that servers want, of an admin of all collections; empty: $"+keyVariable)
	Complete(c, "by", byBytes, byCount)
}

func (f *loadFlags) count() bool { return f.how == byCount }

// by returns what asks groups how much each slot has, nil: nothing does.
func (f *loadFlags) by(a *App, cl *coord.Client) (func(context.Context, *placement.Map) (*cluster.Load, error), error) {
	switch f.how {
	case "", byCount:
		return nil, nil
	case byBytes:
	default:
		return nil, BadUsage("--by is %q, want %s or %s", f.how, byBytes, byCount)
	}
	key, err := clientKey(f.keyFile)
	if err != nil {
		return nil, err
	}
	o := client.Options{Transport: catfish.TransportTCP, Key: key, Logger: a.logger()}
	return func(ctx context.Context, m *placement.Map) (*cluster.Load, error) {
		groups, err := node.Groups(ctx, cl)
		if err != nil {
			return nil, err
		}
		return slotLoads(m, groups, func(addrs, group string) (*cluster.Load, error) { return client.SlotLoad(ctx, addrs, group, o) })
	}, nil
}

// maxAsked is how many addresses a client takes; it finds other members by these.
const maxAsked = 16

// addrsOf are those of a group's members, the primary first.
func addrsOf(groups []*node.Group, name string) (addrs []string) {
	for _, g := range groups {
		if g.Name != name {
			continue
		}
		for _, m := range g.Members {
			if m.Name == g.Primary {
				addrs = slices.Insert(addrs, 0, m.Addr)
			} else {
				addrs = append(addrs, m.Addr)
			}
		}
	}
	return addrs[:min(len(addrs), maxAsked)]
}

// errLoad: a group does not say how much each slot has.
var errLoad = errors.New("--by count weighs all slots alike, and asks no group")

// slotLoads asks the groups of a map that have, or may get, slots. Of what several say of a
// slot, such as one that moves, the most counts.
func slotLoads(m *placement.Map, groups []*node.Group, ask func(addrs, group string) (*cluster.Load, error)) (*cluster.Load, error) {
	var all sync.WaitGroup
	loads, failed := make([]*cluster.Load, len(m.Groups)), make([]error, len(m.Groups))
	for i, g := range m.Groups {
		if g.Weight == 0 && !slices.Contains(m.Slots[:], placement.Index(i)) {
			continue
		}
		all.Go(func() {
			addrs := addrsOf(groups, g.Name)
			if len(addrs) == 0 {
				failed[i] = fmt.Errorf("group %q has no members yet: start its servers; %w", g.Name, errLoad)
				return
			}
			load, err := ask(strings.Join(addrs, ","), g.Name)
			if err != nil {
				err = fmt.Errorf("group %q does not say how much each slot has: %w; %w", g.Name, err, errLoad)
			}
			loads[i], failed[i] = load, err
		})
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	sum := new(cluster.Load)
	for _, load := range loads {
		if load == nil {
			continue
		}
		for s, n := range load {
			sum[s] = max(sum[s], n)
		}
	}
	return sum, nil
}
