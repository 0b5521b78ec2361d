package paper

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/micro"
	"github.com/catfish-index/catfish/bench/netns"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
)

// through returns the link that a network needs: the existing one, or another
// in its place; nil for the host itself.
func through(ctx context.Context, have *netns.Link, want Network) (*netns.Link, error) {
	if have != nil && have.Rate == want.Rate {
		return have, nil
	}
	if have != nil {
		if err := have.Close(); err != nil {
			return have, err
		}
	}
	if want.Rate == 0 {
		return nil, nil
	}
	return netns.New(ctx, want.Rate)
}

// within starts children at the ends of a link, if there is one. The error is
// set when a child could not enter the network.
func within(link *netns.Link, spawn child.Spawn) (child.Spawn, *error) {
	entered := new(error)
	if link == nil {
		return spawn, entered
	}
	return func(role child.Role, cpus affinity.Set) *exec.Cmd {
		cmd := spawn(role, cpus)
		side := netns.Client
		if role == bench.ServerRole || role == micro.ServerRole {
			side = netns.Server
		}
		if err := link.Enter(side, cmd); err != nil {
			*entered = err
			cmd.Err = err // Start returns it.
		}
		return cmd
	}, entered
}

// overNetworks measures cells in order, each at its network, which it makes if there is
// not one of its kind, and removes before it returns.
func overNetworks[C fmt.Stringer](ctx context.Context, cells []C, at func(C) Network, note func(string),
	measure func(c C, link *netns.Link) error) (err error) {
	var link *netns.Link
	defer func() {
		if link != nil {
			err = errors.Join(err, link.Close())
		}
	}()
	for _, c := range cells {
		if link, err = through(ctx, link, at(c)); err != nil {
			return err
		}
		note(c.String())
		if err := measure(c, link); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	return nil
}
