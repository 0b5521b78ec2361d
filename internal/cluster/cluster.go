// Package cluster keeps the map of several groups (package placement) in etcd, in one value.
//
//	cluster.go  the map, and its beginning
//	change.go   changes by an operator
//	plan.go     which slots move, by what each has
//	step.go     changes by the primary of a group
//	split.go    a range of boxes is divided by an operator
//	load.go     what each slot has, as groups say; boxload.go: where boxes are
//	manifest.go a backup of all groups; backup.go: how it is made; dial.go: streams to members
//	carry.go    moves begin, some at once, until nothing is left of a plan
//	automatic.go plans without an operator; term.go: by one planner at a time
//
// Groups' primaries do the steps of moves (docs/decisions/many-groups.md); here they are
// begun, looked at and undone.
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

// Reader is the coordinator as readers of the map need it.
type Reader interface {
	Get(ctx context.Context, key string) (coord.Value, error)
}

// Registry is the coordinator as operators' changes of the map need it.
type Registry interface {
	Keeper
	Watch(ctx context.Context, key string, wake func())
}

// Read returns the map, nil if there is none: each group has a store of its own.
func Read(ctx context.Context, r Reader) (*placement.Map, error) {
	m, _, err := read(ctx, r)
	return m, err
}

// read is Read with the version that a change compares.
func read(ctx context.Context, r Reader) (*placement.Map, int64, error) {
	v, err := r.Get(ctx, Key)
	if err != nil || v.Version == 0 {
		return nil, 0, err
	}
	m, err := placement.Decode(v.Bytes)
	return m, v.Version, err
}

// Init makes the map of groups that do not exist yet: each has its share of the slots by
// weight. Of several groups, one that exists may have data that another group would have by
// the map, or clients that do not know it. A group alone may exist: it has all slots with the
// map as without it. ErrRefused: a group exists, or the map.
func Init(ctx context.Context, r Registry, groups []placement.Group) (*placement.Map, error) {
	m, err := placement.New(groups)
	if err != nil {
		return nil, err
	}
	return Make(ctx, r, m)
}

// Make makes a map that there was before, of groups that do not exist yet, as Init does.
func Make(ctx context.Context, r Registry, m *placement.Map) (*placement.Map, error) {
	b, err := m.Encode()
	if err != nil {
		return nil, err
	}
	var none []coord.Value
	if len(m.Groups) > 1 {
		for _, g := range m.Groups {
			none = append(none, coord.Value{Key: node.Key(g.Name)})
		}
	}
	// A member makes its group's value before it reads the map (package daemon). So either it
	// finds the map, or the group exists here.
	_, err = r.SwapIf(ctx, Key, 0, b, none...)
	if errors.Is(err, coord.ErrConflict) {
		return nil, errors.Join(why(ctx, r, none), err)
	}
	return m, err
}

// why says what has refused the first map.
func why(ctx context.Context, r Reader, groups []coord.Value) error {
	if m, err := Read(ctx, r); err != nil || m != nil {
		if m != nil {
			err = fmt.Errorf("%w: there is a map already, of %d groups", ErrRefused, len(m.Groups))
		}
		return err
	}
	return absent(ctx, r, groups)
}

// absent is ErrRefused if a group exists that a map is to have from its beginning.
func absent(ctx context.Context, r Reader, groups []coord.Value) error {
	for _, g := range groups {
		if v, err := r.Get(ctx, g.Key); err != nil || v.Version != 0 {
			if err == nil {
				err = exists(g.Key)
			}
			return err
		}
	}
	return nil
}

func exists(key string) error {
	return fmt.Errorf("%w: %s exists, with a store of its own: the groups of a map are started after it", ErrRefused, key)
}
