package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
)

// Load is how many bytes each slot has.
type Load = [placement.Slots]uint64

// Loads returns that of the groups of a map.
type Loads func(ctx context.Context, m *placement.Map) (*Load, error)

// ErrLoad: a group does not say how much each slot has.
var ErrLoad = errors.New("cluster: the load of slots is not known")

// What slots are weighed by.
const (
	ByBytes    = "bytes"
	ByRequests = "requests"
	ByCount    = "count" // All count alike.
)

// LoadsBy returns what asks groups by one of these; nil: nothing does.
func LoadsBy(how string, r node.Registry, o client.Options) (Loads, error) {
	switch how {
	case ByBytes:
		return AskLoads(r, o), nil
	case ByCount:
		return nil, nil
	}
	return nil, fmt.Errorf("%w: slots are not weighed by %q", ErrRefused, how)
}

// AskLoads asks the primaries of groups, as a client with these options. An error names the
// group, and wraps ErrLoad.
func AskLoads(r node.Registry, o client.Options) Loads {
	return func(ctx context.Context, m *placement.Map) (*Load, error) {
		groups, err := node.Groups(ctx, r)
		if err != nil {
			return nil, err
		}
		return slotLoads(m, groups, func(addrs, group string) (*Load, error) { return client.SlotLoad(ctx, addrs, group, o) })
	}
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

// slotLoads asks the groups of a map that have, or may get, slots. Of what several say of a
// slot, such as one that moves, the most counts.
func slotLoads(m *placement.Map, groups []*node.Group, ask func(addrs, group string) (*Load, error)) (*Load, error) {
	var all sync.WaitGroup
	loads, failed := make([]*Load, len(m.Groups)), make([]error, len(m.Groups))
	for i, g := range m.Groups {
		if g.Weight == 0 && !slices.Contains(m.Slots[:], placement.Index(i)) {
			continue
		}
		all.Go(func() {
			addrs := addrsOf(groups, g.Name)
			if len(addrs) == 0 {
				failed[i] = fmt.Errorf("%w: group %q has no members yet: start its servers", ErrLoad, g.Name)
				return
			}
			load, err := ask(strings.Join(addrs, ","), g.Name)
			if err != nil {
				err = fmt.Errorf("%w: group %q does not answer: %w", ErrLoad, g.Name, err)
			}
			loads[i], failed[i] = load, err
		})
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	sum := new(Load)
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
