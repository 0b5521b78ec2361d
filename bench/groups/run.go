package groups

import (
	"context"
	"errors"
	"slices"

	"github.com/catfish-index/catfish/bench/netns"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
)

// Run measures all parts, and calls done with each row. An error that wraps
// netns.ErrUnavailable says why this machine has no namespaces. No process and no directory
// outlives the call.
func Run(ctx context.Context, cfg Config, spawn child.Spawn, note func(string), done func(Row)) (err error) {
	if err := cfg.Validate(); err != nil {
		return err
	}
	l := &lab{cfg: &cfg, spawn: spawn, note: note, done: done}
	if l.cpus, err = affinity.Parse(cfg.ClientCPUs); err != nil {
		return err
	}
	if slices.Contains(cfg.Networks, Namespaces) {
		if err := netns.SwitchAvailable(ctx); err != nil {
			return err
		}
		if l.net, err = netns.NewSwitch(ctx, portClients+1); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, l.net.Close()) }()
	}
	for _, part := range Parts {
		if !slices.Contains(cfg.Parts, part) {
			continue
		}
		for _, c := range cfg.cells() {
			if err := l.measure(ctx, part, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lab) measure(ctx context.Context, part string, c cell) error {
	switch part {
	case Writes:
		return l.writes(ctx, c)
	case Switch:
		return l.switches(ctx, c)
	case Sync:
		return l.sync(ctx, c)
	case Moves:
		return l.moves(ctx, c)
	}
	return l.lanes(ctx, c)
}

// with starts a set-up for a use.
func (l *lab) with(ctx context.Context, c cell, s setup, use func(*group) error) error {
	g, err := l.start(ctx, c, s)
	if err != nil {
		return err
	}
	return errors.Join(use(g), g.close())
}
