package client

import (
	"context"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
)

// SwapCollections exchanges the names of two collections of features, at one moment
// for all clients, and durably: a collection loaded beside another takes its place.
// It may take 10 s (Server.SwapCollections), and once it has returned, calls that
// begin see the new names. Older clients that offload notice the swap with their next
// message. ErrUnknownCollection, ErrKind: of one of the names.
func (c *Client) SwapCollections(ctx context.Context, a, b string) error {
	for _, name := range []string{a, b} {
		if err := wire.CheckFind(name); err != nil {
			return err
		}
	}
	if a == b {
		return fmt.Errorf("%w: %q swapped with itself", model.ErrOption, a)
	}
	_, err := c.manage(ctx, wire.KindSwap, "swap collections", string(wire.AppendText(wire.AppendText(nil, a), b)))
	return err
}

// stale reports whether the name may mean another collection by now.
func (o *openSlab) stale() bool {
	return o.outgrown.Load() || o.until != 0 && wire.Monotonic() >= o.until
}
