package catfish

import (
	"context"
	"fmt"
)

// FeaturesInfo describes a collection of features.
type FeaturesInfo struct {
	Name string `json:"name"`
	FeaturesOptions
	// Features are how many there are, those included that have expired and are
	// not removed yet.
	Features int `json:"features"`
}

// Describe tells what the collection is, and how much it has.
func (f *Features) Describe(ctx context.Context) (FeaturesInfo, error) { return f.be.describe(ctx) }

func (l *localFeatures) describe(context.Context) (FeaturesInfo, error) {
	return FeaturesInfo{l.c.Name(), l.c.Options(), l.c.Len()}, nil
}

func (r *remoteFeatures) describe(ctx context.Context) (FeaturesInfo, error) {
	if kind, err := r.c.Kind(ctx); err != nil || kind != KindFeatures {
		if err == nil {
			err = fmt.Errorf("%w: %q is one of %s, not of %s", ErrKind, r.c.collection, kind, KindFeatures)
		}
		return FeaturesInfo{}, err
	}
	st, err := r.c.Stats(ctx)
	if err != nil {
		return FeaturesInfo{}, err
	}
	f, ok := st.Features[r.c.collection]
	if !ok {
		return FeaturesInfo{}, fmt.Errorf("%w: %q was dropped", ErrUnknownCollection, r.c.collection)
	}
	return FeaturesInfo{r.c.collection, f.CollectionOptions, f.Records.Index.Items}, nil
}

// Kind is what the client's collection has: KindBoxes, KindRecords or KindFeatures.
// ErrUnknownCollection: there is none.
func (c *Client) Kind(ctx context.Context) (kind string, err error) {
	_, err = c.request(ctx, kindOpen, func(s *session) (*openSlab, []byte, error) {
		o, err := s.openChecked(ctx, c.collection, kindOpen)
		if err == nil {
			kind = o.kind()
		}
		// Asked for again, as every request is that wants to know now: what the
		// session knows may be of a collection that was dropped.
		return o, []byte(c.collection), err
	})
	return kind, err
}
