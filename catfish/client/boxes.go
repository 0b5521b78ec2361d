package client

import (
	"context"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
)

// CreateBoxes adds a collection of boxes, unless there is one of that name
// (ErrKind: of another kind; store.ErrCollectionExists: o.Keep is set, and the
// existing one is not kept). See CreateCollection.
func (c *Client) CreateBoxes(ctx context.Context, name string, o model.BoxesOptions) error {
	if !o.Keep {
		return c.CreateCollection(ctx, name)
	}
	if err := wire.CheckName(name); err != nil {
		return err
	}
	_, err := c.manage(ctx, wire.KindCreateKept, "create collections that are kept", name)
	return err
}
