package catfish

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/catfish-index/catfish/store/query"
)

// FeaturesInfo describes a collection of features: options, count, extent, types of
// geometries and properties.
type FeaturesInfo = query.Description

// Describe returns the collection's options and a summary of its features. A server
// older than this client sends only name, options and count.
func (f *Features) Describe(ctx context.Context) (FeaturesInfo, error) { return f.be.Describe(ctx) }

// describe answers a client.
func (c *collection) describe() ([]byte, error) {
	d, err := c.features.Describe()
	if err != nil {
		return nil, c.goneOr(err)
	}
	return json.Marshal(d)
}

func (r *remoteFeatures) Describe(ctx context.Context) (d FeaturesInfo, err error) {
	older := false
	ans, err := r.c.request(ctx, kindDescribe, func(s *session) (*openSlab, []byte, error) {
		o, err := s.openChecked(ctx, r.c.collection, kindOpen)
		if err == nil {
			err = o.isOf(KindFeatures)
		}
		if older = err == nil && !s.knows(kindDescribe); older {
			err = ErrVersionMismatch
		}
		if err != nil {
			return o, nil, err
		}
		return o, appendHead(nil, o.coll, 0), nil
	})
	if older {
		return r.brief(ctx)
	}
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(ans, &d); err != nil {
		return d, fmt.Errorf("%w: description of %d bytes: %w", ErrProtocol, len(ans), err)
	}
	return d, nil
}

// brief is describe for older servers.
func (r *remoteFeatures) brief(ctx context.Context) (FeaturesInfo, error) {
	st, err := r.c.Stats(ctx)
	if err != nil {
		return FeaturesInfo{}, err
	}
	f, ok := st.Features[r.c.collection]
	if !ok {
		return FeaturesInfo{}, fmt.Errorf("%w: %q was dropped", ErrUnknownCollection, r.c.collection)
	}
	return FeaturesInfo{Name: r.c.collection, CollectionOptions: f.CollectionOptions, Features: f.Records.Index.Items}, nil
}

// Kind is the kind of the client's collection: KindBoxes, KindRecords or KindFeatures.
// ErrUnknownCollection: there is none.
func (c *Client) Kind(ctx context.Context) (kind string, err error) {
	_, err = c.request(ctx, kindOpen, func(s *session) (*openSlab, []byte, error) {
		o, err := s.openChecked(ctx, c.collection, kindOpen)
		if err == nil {
			kind = o.kind()
		}
		// Asked for again, as by every request that needs the present state: the session
		// may know a collection that was dropped.
		return o, []byte(c.collection), err
	})
	return kind, err
}
