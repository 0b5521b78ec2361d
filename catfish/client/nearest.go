package client

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// Nearest returns the k objects nearest to (x, y) by Euclidean distance
// to their rectangles, nearest first, ties by id. It returns fewer if
// the collection holds fewer. k is at most MaxNearest.
func (c *Client) Nearest(ctx context.Context, x, y float64, k int) ([]model.Neighbor, error) {
	return c.NearestWithin(ctx, x, y, k, math.Inf(1))
}

// NearestWithin is Nearest without the objects whose distance exceeds
// within, which is 0 or more, and may be infinite.
func (c *Client) NearestWithin(ctx context.Context, x, y float64, k int, within float64) ([]model.Neighbor, error) {
	if err := (rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}).Validate(); err != nil {
		return nil, err
	}
	if k < 1 || k > wire.MaxNearest {
		return nil, fmt.Errorf("%w: k is %d, want 1..%d", model.ErrOption, k, wire.MaxNearest)
	}
	if !(within >= 0) {
		return nil, fmt.Errorf("%w: distance %v, want 0 or more", model.ErrOption, within)
	}
	q := queries.Get().(*boxQuery)
	defer q.release()
	q.kind, q.x, q.y, q.limit, q.within = wire.KindNearest, x, y, k, within
	if err := c.runBoxes(ctx, q); err != nil {
		return nil, err
	}
	return q.neighbors, nil
}

// appendNearest appends the body of a request for the nearest, and returns
// its kind. A server that does not know the bound sends all k.
func (q *boxQuery) appendNearest(s *session) fastmsg.Kind {
	q.req = binary.LittleEndian.AppendUint64(q.req, math.Float64bits(q.x))
	q.req = binary.LittleEndian.AppendUint64(q.req, math.Float64bits(q.y))
	if math.IsInf(q.within, 1) || !s.knows(wire.KindWithin) {
		return wire.KindNearest
	}
	q.req = binary.LittleEndian.AppendUint64(q.req, math.Float64bits(q.within))
	return wire.KindWithin
}
