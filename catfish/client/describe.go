package client

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
)

func (r *remoteFeatures) Describe(ctx context.Context) (d model.FeaturesInfo, err error) {
	older := false
	ans, err := r.c.request(ctx, wire.KindDescribe, func(s *session) (*openSlab, []byte, error) {
		o, err := s.openKind(ctx, r.c.collection, ofFeatures, wire.KindOpen)
		if older = err == nil && !s.knows(wire.KindDescribe); older {
			err = model.ErrVersionMismatch
		}
		if err != nil {
			return o, nil, err
		}
		return o, wire.AppendHead(nil, o.coll, 0), nil
	})
	if older {
		return r.brief(ctx)
	}
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(ans, &d); err != nil {
		return d, fmt.Errorf("%w: description of %d bytes: %w", model.ErrProtocol, len(ans), err)
	}
	return d, nil
}

// brief is describe for older servers.
func (r *remoteFeatures) brief(ctx context.Context) (model.FeaturesInfo, error) {
	st, err := r.c.Stats(ctx)
	if err != nil {
		return model.FeaturesInfo{}, err
	}
	f, ok := st.Features[r.c.collection]
	if !ok {
		return model.FeaturesInfo{}, fmt.Errorf("%w: %q was dropped", model.ErrUnknownCollection, r.c.collection)
	}
	return model.FeaturesInfo{Name: r.c.collection, CollectionOptions: f.CollectionOptions, Features: f.Records.Index.Items}, nil
}

// Kind is the kind of the client's collection: KindBoxes, KindRecords or KindFeatures.
// ErrUnknownCollection: there is none.
func (c *Client) Kind(ctx context.Context) (kind string, err error) {
	if k := c.conn.cluster; k != nil {
		return k.kind(ctx, c.collection)
	}
	_, err = c.request(ctx, wire.KindOpen, func(s *session) (*openSlab, []byte, error) {
		o, err := s.openChecked(ctx, c.collection, wire.KindOpen)
		if err == nil {
			kind = o.kind().String()
		}
		// Asked for again, as by every request that needs the present state: the session
		// may know a collection that was dropped.
		return o, []byte(c.collection), err
	})
	return kind, err
}
