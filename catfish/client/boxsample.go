package client

import (
	"context"

	"github.com/catfish-index/catfish/internal/wire"
)

// BoxSample asks the primary of one of several groups how many different boxes it has of a
// collection, and for the positions of a sample of them, as SlotLoad does. For packages of this module.
func BoxSample(ctx context.Context, addr, group, collection string, o Options) (boxes int, positions []uint64, err error) {
	b, err := askPrimary(ctx, addr, group, o, wire.KindBoxSample, "sample boxes", []byte(collection))
	if err != nil {
		return 0, nil, err
	}
	return wire.GetBoxSample(b)
}
