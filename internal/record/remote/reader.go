package remote

import (
	"context"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/offload"
)

// Reader reads records over a read channel, for one goroutine at a time.
type Reader struct {
	channel *offload.Channel
	regions [1]rdma.Remote // the slab
	walk    *Walk
	stats   offload.Stats
}

// NewReader makes a Reader of the heap whose slab begins at base. It uses the
// channel, which stays the caller's. now is as for NewWalk.
func NewReader(ch *offload.Channel, base rdma.Remote, space record.Space, limits Limits, now func() time.Duration) *Reader {
	return &Reader{channel: ch, regions: [1]rdma.Remote{base}, walk: NewWalk(space, limits, now)}
}

// Read reads all items in one walk: Item.View and Item.Err are the answers, and good
// until the next call. The error is that of the channel; items that were answered
// before keep their answers, all others say ErrUnread.
func (r *Reader) Read(ctx context.Context, items []Item) error {
	r.stats = offload.Stats{}
	r.walk.Reset(items)
	return r.channel.Run(ctx, r.regions[:], r.walk, &r.stats)
}

// Stats is the cost of the last Read, whether it failed or not.
func (r *Reader) Stats() offload.Stats { return r.stats }
