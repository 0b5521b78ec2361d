// Package cluster keeps the map of several groups (package placement) in etcd, in one value.
package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
)

// Key is that of the map.
const Key = "map"

// ErrRefused: the state of the groups forbids the change, and nothing was changed.
var ErrRefused = errors.New("cluster: refused")

// Read returns the map, nil if there is none: each group has a store of its own.
func Read(ctx context.Context, d node.Decider) (*placement.Map, error) {
	v, err := d.Get(ctx, Key)
	if err != nil || v.Version == 0 {
		return nil, err
	}
	return placement.Decode(v.Bytes)
}

// Init makes the map of groups that do not exist yet: each has its share of the slots by
// weight. A group that exists may have data that another group would have by the map, or
// clients that do not know it. ErrRefused: a group exists, or the map.
func Init(ctx context.Context, c *coord.Client, groups []placement.Group) (*placement.Map, error) {
	m, err := placement.New(groups)
	if err != nil {
		return nil, err
	}
	b, err := m.Encode()
	if err != nil {
		return nil, err
	}
	none := make([]coord.Value, len(groups))
	for i, g := range groups {
		none[i].Key = node.Key(g.Name)
	}
	// A member makes its group's value before it reads the map (package daemon). So either it
	// finds the map, or the group exists here.
	_, err = c.SwapIf(ctx, Key, 0, b, none...)
	if errors.Is(err, coord.ErrConflict) {
		return nil, errors.Join(why(ctx, c, none), err)
	}
	return m, err
}

// why says what has refused a map.
func why(ctx context.Context, c *coord.Client, groups []coord.Value) error {
	if m, err := Read(ctx, c); err != nil || m != nil {
		if m != nil {
			err = fmt.Errorf("%w: there is a map already, of %d groups", ErrRefused, len(m.Groups))
		}
		return err
	}
	for _, g := range groups {
		if v, err := c.Get(ctx, g.Key); err != nil || v.Version != 0 {
			if err == nil {
				err = fmt.Errorf("%w: %s exists, with a store of its own: the groups of a map are started after it", ErrRefused, g.Key)
			}
			return err
		}
	}
	return nil
}
