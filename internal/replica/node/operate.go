package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/replica"
)

// What operators do to groups: changes of a group's value, by compare-and-set, like those of
// its members.

// Errors of operators' calls.
var (
	ErrNoGroup  = errors.New("replica: no such group")
	ErrNoMember = errors.New("replica: no such member")
	ErrRefused  = errors.New("replica: refused")
)

// Registry is the coordinator as operators' commands need it.
type Registry interface {
	Decider
	List(ctx context.Context, prefix string) ([]coord.Value, error)
}

// Groups returns all groups, by name.
func Groups(ctx context.Context, r Registry) ([]*Group, error) {
	all, err := r.List(ctx, Key(""))
	if err != nil {
		return nil, err
	}
	groups := make([]*Group, len(all))
	for i, v := range all {
		if groups[i], err = Parse(v); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// edit changes a group until no other change comes between.
func edit(ctx context.Context, d Decider, group string, change func(*Group) error) (*Group, error) {
	for {
		v, err := d.Get(ctx, Key(group))
		if err != nil {
			return nil, err
		}
		if v.Version == 0 {
			return nil, fmt.Errorf("%w: %q", ErrNoGroup, group)
		}
		g, err := Parse(v)
		if err != nil {
			return nil, err
		}
		if err := change(g); err != nil {
			return nil, err
		}
		g.version, err = d.Swap(ctx, g.key(), v.Version, g.encode())
		if !errors.Is(err, coord.ErrConflict) {
			return g, err
		}
	}
}

// Switch makes an in-sync member the primary, and waits until it is. The old primary continues
// until all have all, so that no write fails. ErrRefused: it is not in sync, or the old
// primary has given up.
func Switch(ctx context.Context, d Decider, group, to string) error {
	g, err := edit(ctx, d, group, func(g *Group) error {
		switch {
		case g.Member(to) == nil:
			return fmt.Errorf("%w: %q in group %q", ErrNoMember, to, group)
		case !slices.Contains(g.InSync, to):
			return fmt.Errorf("%w: %q is not in sync: %v are", ErrRefused, to, g.InSync)
		}
		g.Wanted = to
		return nil
	})
	if err != nil {
		return err
	}
	for g.Primary != to && err == nil {
		if g.Wanted != to {
			return fmt.Errorf("%w: %q is primary of term %d, not %q", ErrRefused, g.Primary, g.Term, to)
		}
		select {
		case <-time.After(joinPause):
		case <-ctx.Done():
			_, undo := edit(context.WithoutCancel(ctx), d, group, func(g *Group) error { g.Wanted = ""; return nil })
			return errors.Join(fmt.Errorf("replica: waiting for %q to be the primary of %q: %w", to, group, context.Cause(ctx)), undo)
		}
		var v coord.Value
		if v, err = d.Get(ctx, Key(group)); err == nil {
			g, err = Parse(v)
		}
	}
	return err
}

// Remove takes a member out of its group. ErrRefused: it is the primary.
func Remove(ctx context.Context, d Decider, group, name string) error {
	_, err := edit(ctx, d, group, func(g *Group) error {
		switch {
		case g.Member(name) == nil:
			return fmt.Errorf("%w: %q in group %q", ErrNoMember, name, group)
		case g.Primary == name:
			return fmt.Errorf("%w: %q is the primary: switch to another member first", ErrRefused, name)
		}
		g.Members = slices.DeleteFunc(g.Members, func(m Member) bool { return m.Name == name })
		g.InSync = slices.DeleteFunc(g.InSync, func(s string) bool { return s == name })
		return nil
	})
	return err
}

// Promote makes a member the primary by force, and the only one in sync: writes that it does
// not have are lost. It is for when no in-sync member is left. The members that are left copy
// its store.
func Promote(ctx context.Context, d Decider, group, name string) error {
	_, err := edit(ctx, d, group, func(g *Group) error {
		if g.Member(name) == nil {
			return fmt.Errorf("%w: %q in group %q", ErrNoMember, name, group)
		}
		g.Term, g.Primary, g.InSync, g.Wanted = g.Term+1, name, []string{name}, ""
		return nil
	})
	return err
}

// wanted begins what an operator has asked for.
func (n *Node) wanted(g *Group) {
	if m := g.Member(g.Wanted); m != nil && g.Primary == n.o.Name && m.ID != n.id {
		n.notify(replica.HandOver{To: m.ID})
	}
}
