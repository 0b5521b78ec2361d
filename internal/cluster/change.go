package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
)

// change changes the map, by the next one that a function makes of it, until no other change
// comes between. The function may return the same map: then nothing is changed. none are groups
// that must not exist.
func change(ctx context.Context, r Registry, next func(*placement.Map) (*placement.Map, error), none ...coord.Value) (*placement.Map, error) {
	for {
		m, version, err := read(ctx, r)
		if err == nil && m == nil {
			err = errNoMap
		}
		if err != nil {
			return nil, err
		}
		n, err := next(m)
		if err != nil || n == m {
			return n, err
		}
		b, err := n.Encode()
		if err != nil {
			return nil, err
		}
		if _, err = r.SwapIf(ctx, Key, version, b, none...); !errors.Is(err, coord.ErrConflict) {
			return n, err
		}
		if err := absent(ctx, r, none); err != nil {
			return nil, err
		}
	}
}

var errNoMap = fmt.Errorf("%w: there is no map of groups; 'catfish cluster init' makes it, also for one group that exists", ErrRefused)

// Add adds a group, which does not exist yet, and has nothing until moves bring it. The reason
// is that of Init. ErrRefused: the group exists, or is in the map.
func Add(ctx context.Context, r Registry, g placement.Group) (*placement.Map, error) {
	return change(ctx, r, func(m *placement.Map) (*placement.Map, error) {
		if _, err := m.Find(g.Name); err == nil {
			return nil, fmt.Errorf("%w: group %q is in the map", ErrRefused, g.Name)
		}
		return m.AddGroup(g.Name, g.Weight)
	}, coord.Value{Key: node.Key(g.Name)})
}

// Weigh gives a group another weight. Nothing moves until Rebalance or Drain. ErrRefused: it is
// 0, and so are those of all others.
func Weigh(ctx context.Context, r Registry, name string, weight uint8) (*placement.Map, error) {
	return change(ctx, r, func(m *placement.Map) (*placement.Map, error) {
		g, err := m.Find(name)
		if err != nil || m.Groups[g].Weight == weight {
			return m, err
		}
		if weight == 0 && !slices.ContainsFunc(m.Groups, func(o placement.Group) bool { return o.Name != name && o.Weight > 0 }) {
			return nil, fmt.Errorf("%w: no other group than %q has a weight above 0, so there is none for its slots", ErrRefused, name)
		}
		return m.Weigh(g, weight)
	})
}

// Remove takes a group out of the map. placement.ErrBusy: it has slots, or moves.
func Remove(ctx context.Context, r Registry, name string) (*placement.Map, error) {
	return change(ctx, r, func(m *placement.Map) (*placement.Map, error) {
		g, err := m.Find(name)
		if err != nil {
			return nil, err
		}
		return m.RemoveGroup(g)
	})
}

// Undo ends moves that are not decided, and returns how many, and how many others of these
// are decided and continue. Without parts it is about all; with some, at least one of them must
// move: ErrRefused.
func Undo(ctx context.Context, r Registry, of []placement.Part) (undone, decided int, err error) {
	_, err = change(ctx, r, func(m *placement.Map) (*placement.Map, error) {
		var parts []placement.Part
		if undone, decided = 0, 0; of == nil {
			for _, v := range m.Moves {
				parts = append(parts, v.Part)
			}
		}
		parts = append(parts, of...)
		n := m
		for _, p := range parts {
			switch next, err := n.Undo(p); {
			case err == nil:
				n = next
				undone++
			case errors.Is(err, placement.ErrStep):
				decided++
			case !errors.Is(err, placement.ErrUnknown): // Others need not move.
				return nil, err
			}
		}
		if of != nil && undone+decided == 0 {
			return nil, fmt.Errorf("%w: none of the %d parts moves", ErrRefused, len(of))
		}
		if n != m {
			n.Version = m.Version + 1 // It is one change.
		}
		return n, nil
	})
	return undone, decided, err
}
