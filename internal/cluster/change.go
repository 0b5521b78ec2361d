package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
)

// change changes the map, by the next one that a function makes of it, until no other change
// comes between. The function may return the same map: then nothing is changed. added are groups
// that come into the map.
func change(ctx context.Context, r Registry, next func(*placement.Map) (*placement.Map, error), added ...string) (*placement.Map, error) {
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
		var free []coord.Value
		for _, name := range added {
			v, err := mayAdd(ctx, r, name)
			if err != nil {
				return nil, err
			}
			free = append(free, v)
		}
		if _, err = r.SwapIf(ctx, Key, version, b, free...); !errors.Is(err, coord.ErrConflict) {
			return n, err
		}
	}
}

// mayAdd returns the value of a group that may come into the map: there is none, or the group was taken out
// of the map, with nothing in its store, and its members have refused writes since. Another one has a
// store of its own: ErrRefused.
func mayAdd(ctx context.Context, r Reader, name string) (coord.Value, error) {
	v, err := r.Get(ctx, node.Key(name))
	if err != nil || v.Version == 0 {
		return v, err
	}
	g, err := node.Parse(v)
	if err == nil && !g.Removed {
		err = exists(v.Key)
	}
	return v, err
}

var errNoMap = fmt.Errorf("%w: there is no map of groups; 'catfish cluster init' makes it, also for one group that exists", ErrRefused)

// Add adds a group, which does not exist yet, or was removed, and has nothing until moves bring it. The
// reason is that of Init. ErrRefused: the group exists, or is in the map.
func Add(ctx context.Context, r Registry, g placement.Group) (*placement.Map, error) {
	return change(ctx, r, func(m *placement.Map) (*placement.Map, error) {
		if _, err := m.Find(g.Name); err == nil {
			return nil, fmt.Errorf("%w: group %q is in the map", ErrRefused, g.Name)
		}
		return m.AddGroup(g.Name, g.Weight)
	}, g.Name)
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

// Remove takes a group out of the map. placement.ErrBusy: it has slots, or moves. The group's value
// notes it first, so that its members take no writes as a group without a map would, and Add takes it again.
func Remove(ctx context.Context, r Registry, name string) (*placement.Map, error) {
	return change(ctx, r, func(m *placement.Map) (*placement.Map, error) {
		g, err := m.Find(name)
		if err != nil {
			return nil, err
		}
		n, err := m.RemoveGroup(g)
		if err == nil {
			err = note(ctx, r, name)
		}
		return n, err
	})
}

// note notes that a group is taken out of the map. As long as the map names it, that means nothing.
func note(ctx context.Context, r Registry, name string) error {
	for {
		v, err := r.Get(ctx, node.Key(name))
		if err != nil || v.Version == 0 { // It was never started.
			return err
		}
		g, err := node.Parse(v)
		if err != nil || g.Removed {
			return err
		}
		g.Removed = true
		b, err := json.Marshal(g)
		if err != nil {
			return err
		}
		if _, err := r.SwapIf(ctx, v.Key, v.Version, b); !errors.Is(err, coord.ErrConflict) && !errors.Is(err, coord.ErrUnknown) {
			return err
		}
	}
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
		n, err := m.Batch(func(n *placement.Map) error {
			for _, p := range parts {
				switch _, err := n.Undo(p); {
				case err == nil:
					undone++
				case errors.Is(err, placement.ErrStep):
					decided++
				case !errors.Is(err, placement.ErrUnknown): // Others need not move.
					return err
				}
			}
			return nil
		})
		if of != nil && undone+decided == 0 {
			return nil, fmt.Errorf("%w: none of the %d parts moves", ErrRefused, len(of))
		}
		if err == nil && undone == 0 {
			return m, nil
		}
		return n, err
	})
	return undone, decided, err
}
