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

// BoxLoad is where the boxes of a collection are.
type BoxLoad struct {
	Sample []uint64 // positions of boxes on the collection's curve
	Each   uint64   // bytes that each of them stands for
}

// BoxLoads returns that of a collection, of the groups of a map.
type BoxLoads func(ctx context.Context, m *placement.Map, collection string) (*BoxLoad, error)

// boxBytes is the size of a box in a directory.
const boxBytes = 48

// AskBoxLoads asks the primaries of groups, as AskLoads does.
func AskBoxLoads(r node.Registry, o client.Options) BoxLoads {
	return func(ctx context.Context, m *placement.Map, collection string) (*BoxLoad, error) {
		groups, err := node.Groups(ctx, r)
		if err != nil {
			return nil, err
		}
		return boxLoad(m, collection, groups, func(addrs, group string) (int, []uint64, error) {
			return client.BoxSample(ctx, addrs, group, collection, o)
		})
	}
}

// boxLoad asks the groups that have ranges of a collection, and merges their samples: each position of
// the result stands for as many boxes, whatever a group has.
func boxLoad(m *placement.Map, collection string, groups []*node.Group, ask func(addrs, group string) (int, []uint64, error)) (*BoxLoad, error) {
	i := slices.IndexFunc(m.Boxes, func(c placement.Curve) bool { return c.Collection == collection })
	if i < 0 {
		return nil, fmt.Errorf("%w: no boxes %q", placement.ErrUnknown, collection)
	}
	boxes, samples, failed := make([]int, len(m.Groups)), make([][]uint64, len(m.Groups)), make([]error, len(m.Groups))
	var all sync.WaitGroup
	for g, of := range m.Groups {
		if !slices.ContainsFunc(m.Boxes[i].Ranges, func(r placement.Range) bool { return r.Group == placement.Index(g) }) {
			continue
		}
		all.Go(func() {
			addrs := addrsOf(groups, of.Name)
			if len(addrs) == 0 {
				failed[g] = fmt.Errorf("%w: group %q has no members yet: start its servers", ErrLoad, of.Name)
				return
			}
			var err error
			if boxes[g], samples[g], err = ask(strings.Join(addrs, ","), of.Name); err != nil {
				failed[g] = fmt.Errorf("%w: group %q does not answer for the boxes of %q: %w", ErrLoad, of.Name, collection, err)
			}
		})
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	return merge(m, collection, boxes, samples)
}

// merge takes as large a part of each group's sample as the largest group's sample is of its boxes.
func merge(m *placement.Map, collection string, boxes []int, samples [][]uint64) (*BoxLoad, error) {
	part := 1.0 // of all boxes
	for g, sample := range samples {
		if len(sample) > 0 {
			part = min(part, float64(len(sample))/float64(boxes[g]))
		}
	}
	load := &BoxLoad{Each: uint64(boxBytes / part)}
	for g, sample := range samples {
		var own []uint64 // It may have copies of ranges that move.
		for _, at := range slices.Sorted(slices.Values(sample)) {
			if _, has, err := m.RangeAt(collection, at); err != nil {
				return nil, err
			} else if has == placement.Index(g) {
				own = append(own, at)
			}
		}
		if len(own) == 0 {
			continue
		}
		n := max(1, min(len(own), int(part*float64(boxes[g])*float64(len(own))/float64(len(sample))+.5)))
		for i := range n {
			load.Sample = append(load.Sample, own[i*len(own)/n])
		}
	}
	return load, nil
}
