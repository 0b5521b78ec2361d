package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
)

// PlaceBoxes places a collection of boxes in the map, which add does (placement.AddBoxes); again
// if the map has changed meanwhile. Groups take boxes of the collection once they
// have read the map. ErrRefused: there is no map, or the collection has its place already.
// coord.ErrUnknown: read the map.
func PlaceBoxes(ctx context.Context, d node.Decider, collection string, add func(*placement.Map) (*placement.Map, error)) (*placement.Map, error) {
	for {
		call, cancel := context.WithTimeout(ctx, callTime)
		v, err := d.Get(call, Key)
		cancel()
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
			return nil, fmt.Errorf("%w: the boxes of %q have their ranges; 'catfish cluster split' divides one", ErrRefused, collection)
		}
		if m, err = add(m); err != nil {
			return nil, err
		}
		b, err := m.Encode()
		if err != nil {
			return nil, err
		}
		call, cancel = context.WithTimeout(ctx, callTime)
		_, err = d.Swap(call, Key, v.Version, b)
		cancel()
		if !errors.Is(err, coord.ErrConflict) {
			return m, err
		}
	}
}
