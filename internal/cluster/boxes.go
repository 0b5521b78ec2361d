package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
	"github.com/catfish-index/catfish/rstar"
)

// PlaceBoxes places a collection of boxes: the map gets its ranges (placement.AddBoxes), which
// do not change any more. Groups take boxes of it once they have read the map. ErrRefused:
// there is no map, or the collection has its place already. coord.ErrUnknown: read the map.
func PlaceBoxes(ctx context.Context, d node.Decider, collection string, world rstar.Rect, sample []uint64, bounds *placement.Bounds) (*placement.Map, error) {
	for {
		v, err := d.Get(ctx, Key)
		if err != nil {
			return nil, err
		}
		if v.Version == 0 {
			return nil, fmt.Errorf("%w: there is no map of groups ('catfish cluster init'), and one group needs no ranges", ErrRefused)
		}
		m, err := placement.Decode(v.Bytes)
		if err != nil {
			return nil, err
		}
		if m.Places(collection) {
			return nil, fmt.Errorf("%w: the boxes of %q have their ranges, which do not change", ErrRefused, collection)
		}
		if m, err = m.AddBoxes(collection, world, sample, bounds); err != nil {
			return nil, err
		}
		b, err := m.Encode()
		if err != nil {
			return nil, err
		}
		if _, err = d.Swap(ctx, Key, v.Version, b); !errors.Is(err, coord.ErrConflict) {
			return m, err
		}
	}
}
