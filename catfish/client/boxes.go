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
	return c.createBoxes(ctx, name, o.Keep)
}

func (c *Client) createBoxes(ctx context.Context, name string, keep bool) error {
	if err := wire.CheckName(name); err != nil {
		return err
	}
	if k := c.conn.cluster; k != nil {
		return (&clusterBoxes{k, name}).create(ctx, keep)
	}
	kind, what := wire.KindCreate, "create collections"
	if keep {
		kind, what = wire.KindCreateKept, "create collections that are kept"
	}
	_, err := c.manage(ctx, kind, what, name)
	return err
}
