package client

import (
	"context"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
)

// Features is for a collection of features over the same connection. It sends no
// request: the first operation, or Kind, shows whether the collection exists
// (ErrUnknownCollection) and is one of features (ErrKind).
func (c *Client) Features(name string) (*model.Features, error) {
	other, err := c.Collection(name)
	if err != nil {
		return nil, err
	}
	if k := c.conn.cluster; k != nil {
		return model.NewFeatures(&clusterFeatures{k, name}), nil
	}
	return model.NewFeatures(&remoteFeatures{other}), nil
}

// CreateFeatures adds a collection of features, unless there is one of that name
// (ErrCollectionExists: with other options; ErrKind: of another kind). See
// CreateCollection.
func (c *Client) CreateFeatures(ctx context.Context, name string, o model.FeaturesOptions) error {
	if err := wire.CheckName(name); err != nil {
		return err
	}
	if k := c.conn.cluster; k != nil {
		return k.everywhere(ctx, func(c *Client) error { return c.CreateFeatures(ctx, name, o) })
	}
	b, err := wire.AppendFeaturesOptions(nil, o)
	if err != nil {
		return err
	}
	_, err = c.manage(ctx, wire.KindCreateFeatures, "create collections of features", string(b)+name)
	return err
}

// remoteFeatures is a collection over a connection.
type remoteFeatures struct{ c *Client }

func (r *remoteFeatures) Collection() string { return r.c.collection }

// get is the get of records, whose values are features here.
func (r *remoteFeatures) Get(ctx context.Context, ids []string, fields *feature.Selection, yield func(int, *query.Found) (bool, error)) error {
	keys := make([][]byte, len(ids))
	for i, id := range ids {
		if err := feature.CheckID(id); err != nil {
			return fmt.Errorf("%w: %w", model.ErrOption, err)
		}
		keys[i] = []byte(id)
	}
	records, err := r.c.getMany(ctx, ofFeatures, keys, fields, nil)
	if err != nil {
		return err
	}
	for i := range records {
		rec, f := &records[i], (*query.Found)(nil)
		if rec.Revision != 0 {
			f = &query.Found{ID: keys[i], Value: rec.Value, Revision: rec.Revision}
			f.Expiry = query.Expiry(rec.Expires)
			if f.View, err = feature.Parse(rec.Value); err != nil {
				return fmt.Errorf("%w: %q: %w", model.ErrProtocol, ids[i], err)
			}
		}
		if more, err := yield(i, f); !more || err != nil {
			return err
		}
	}
	return nil
}
