package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
)

// Load is how many bytes, or requests in an hour, each slot has.
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
	case ByRequests:
		return AskRequests(r, o), nil
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
		loads, err := ofGroups(m, groups, func(addrs, group string) (*Load, error) { return client.SlotLoad(ctx, addrs, group, o) })
		if err != nil {
			return nil, err
		}
		return mostOf(loads), nil
	}
}

// ErrFewRequests: groups have counted too few requests for a plan.
var ErrFewRequests = errors.New("cluster: too few requests were counted")

// What a plan by requests needs. A group that has just got its primary says little of an hour, and
// of few requests the shares are chance: those of two groups with 2,000 each have standard errors of 2 %.
const (
	leastOver    = time.Minute
	leastCounted = 2000 // for each group
)

// AskRequests asks as AskLoads, for the requests by ids. One-sided reads do not pass servers, and
// secondaries count their own: neither is in it.
func AskRequests(r node.Registry, o client.Options) Loads {
	return func(ctx context.Context, m *placement.Map) (*Load, error) {
		groups, err := node.Groups(ctx, r)
		if err != nil {
			return nil, err
		}
		all, err := ofGroups(m, groups, func(addrs, group string) (*placement.Requests, error) {
			return client.SlotRequests(ctx, addrs, group, o)
		})
		if err != nil {
			return nil, err
		}
		return addUp(m, all)
	}
}

// addUp is how many requests each slot has in an hour, of all groups: of one that has moved meanwhile
// both groups have counted some.
func addUp(m *placement.Map, all []*placement.Requests) (*Load, error) {
	var counted, groups uint64
	sum := new(Load)
	for i, r := range all {
		if r == nil {
			continue
		}
		if r.Over < leastOver {
			return nil, fmt.Errorf("%w: group %q has counted for %v, want %v", ErrFewRequests, m.Groups[i].Name, r.Over.Round(time.Second), leastOver)
		}
		groups++
		counted += r.Sum()
		for s, n := range r.Counted {
			sum[s] += uint64(float64(n) * float64(r.Of) * float64(time.Hour) / float64(r.Over))
		}
	}
	if want := groups * leastCounted; counted < want {
		return nil, fmt.Errorf("%w: %d in the last minutes, want %d for %d groups: weigh slots by their bytes", ErrFewRequests, counted, want, groups)
	}
	return sum, nil
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

// ofGroups asks the groups of a map that have, or may get, slots; of others the answer is nil.
func ofGroups[T any](m *placement.Map, groups []*node.Group, ask func(addrs, group string) (*T, error)) ([]*T, error) {
	var all sync.WaitGroup
	loads, failed := make([]*T, len(m.Groups)), make([]error, len(m.Groups))
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
	return loads, errors.Join(failed...)
}

// mostOf is, of what several groups say of a slot, such as one that moves, the most.
func mostOf(loads []*Load) *Load {
	sum := new(Load)
	for _, load := range loads {
		if load == nil {
			continue
		}
		for s, n := range load {
			sum[s] = max(sum[s], n)
		}
	}
	return sum
}
