package client

import (
	"context"
	"errors"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/wire"
)

// SlotLoad asks the primary of one of several groups how many bytes it has of each slot, over a
// connection of its own, for packages of this module. addr names members of the group, as for
// Dial; those of other groups do not count.
func SlotLoad(ctx context.Context, addr, group string, o Options) (*[placement.Slots]uint64, error) {
	b, err := askPrimary(ctx, addr, group, o, wire.KindSlotLoad, "say how much each slot has", nil)
	if err != nil {
		return nil, err
	}
	return wire.GetSlotLoad(b)
}

// SlotRequests is SlotLoad of the requests that the primary has counted, for packages of this module.
func SlotRequests(ctx context.Context, addr, group string, o Options) (*placement.Requests, error) {
	b, err := askPrimary(ctx, addr, group, o, wire.KindSlotRequests, "say how many requests each slot has", nil)
	if err != nil {
		return nil, err
	}
	return wire.GetSlotRequests(b)
}

// askPrimary makes one request to the primary of a group.
func askPrimary(ctx context.Context, addr, group string, o Options, kind fastmsg.Kind, what string, payload []byte) ([]byte, error) {
	c, err := newConnection(addr, o)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.close() }() // All was read.
	c.servers.group = group
	s, err := c.reachPrimary(ctx)
	if err != nil {
		return nil, err
	}
	defer s.drained()
	defer s.close()
	if !s.knows(kind) {
		return nil, s.cannot(what)
	}
	return s.call(ctx, kind, payload, nil)
}

// reachPrimary makes a session without a collection, as soon as the group has a primary.
func (c *connection) reachPrimary(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.DialTimeout)
	defer cancel()
	var pauses pauses
	for {
		found, err := c.servers.find(ctx)
		if err == nil {
			return c.reach(ctx, found)
		}
		if !errors.Is(err, errNoPrimary) || !pauses.atMost(longestSearch).wait(ctx) {
			return nil, err
		}
	}
}
