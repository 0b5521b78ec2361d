package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
)

// Keeper is the coordinator as a primary uses it; *coord.Client is one.
type Keeper interface {
	Reader
	SwapIf(ctx context.Context, key string, version int64, value []byte, others ...coord.Value) (int64, error)
}

// Primary is the member that leads a group in a term.
type Primary struct {
	Group, Node string
	Term        uint64
}

// ErrDeposed: another member leads the group, or will.
var ErrDeposed = errors.New("cluster: this member is not the group's primary any more")

// Step changes the map as the primary of a group: f returns the next map of the one that was
// read. The map and the group's own value must be what was read, so a deposed primary changes
// nothing.
//
// compared is the version of the map that was read, 0: none was. Nothing has changed after
// ErrDeposed, errors of f, coord.ErrConflict and coord.ErrAway. After coord.ErrUnknown it may have, or
// may yet: until a later version than compared was read.
func Step(ctx context.Context, k Keeper, by Primary, f func(*placement.Map) (*placement.Map, error)) (compared uint64, err error) {
	// The group is read first: a member that was deposed before it read the map sees it here, or by
	// the comparison.
	group, err := k.Get(ctx, node.Key(by.Group))
	if err != nil {
		return 0, err
	}
	g, err := node.Parse(group)
	if err != nil {
		return 0, err
	}
	if g.Primary != by.Node || g.Term != by.Term {
		return 0, fmt.Errorf("%w: %q leads %q in term %d", ErrDeposed, g.Primary, by.Group, g.Term)
	}
	v, err := k.Get(ctx, Key)
	if err != nil {
		return 0, err
	}
	m, err := placement.Decode(v.Bytes)
	if err != nil {
		return 0, err
	}
	next, err := f(m)
	if err != nil {
		return m.Version, err
	}
	b, err := next.Encode()
	if err != nil {
		return m.Version, err
	}
	_, err = k.SwapIf(ctx, Key, v.Version, b, group)
	return m.Version, err
}
