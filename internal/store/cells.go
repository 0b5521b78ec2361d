package store

import (
	"context"

	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/rstar"
)

// cellRows is how many rows of a grid are counted by one search: of 2,000,000 features
// in 64 rows some milliseconds, and one that meets a split begins only these again.
const cellRows = 8

// CountCells counts boxes of features by the cells of a grid, which it resets, from
// the tree alone (rstar.Tree.CountCells). A feature with several boxes
// (feature.View.Boxes) counts once for each, and one that has expired until it is
// removed. So does what moves between groups, and readers do not see. pace is as Query.Pace. ok is false if there are more wide ones than
// g.MostWide.
func (c *Collection) CountCells(ctx context.Context, g *rstar.Grid, pace func() error) (ok bool, err error) {
	if err := c.use(); err != nil {
		return false, err
	}
	defer c.using.leave()
	g.Reset()
	rows := len(g.Y) - 1
	for y := 0; y < rows; y += cellRows {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if !c.set.tree.CountCells(g, y, min(y+cellRows, rows)) {
			return false, nil
		}
		if pace != nil {
			if err := pace(); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// ReadFound calls yield with the features that ids of the tree's objects lead to, by the
// index of the id, until it returns false. A feature is valid until yield returns. Expired features
// are left out. ErrPaused: the ids are older than a second, and no longer valid.
func (c *Collection) ReadFound(ctx context.Context, ids []uint64, pace func() error, yield func(i int, f *Found) (more bool, err error)) error {
	if err := c.use(); err != nil {
		return err
	}
	defer c.using.leave()
	b := buffers.Get().(*Buffer)
	defer buffers.Put(b)
	b.begin(ctx, c.set, pace, nil)
	defer b.end()
	for j := range min(ahead, len(ids)) {
		c.set.m.Prefetch(record.Ref(ids[j]))
	}
	for j, id := range ids {
		if j+ahead < len(ids) {
			c.set.m.Prefetch(record.Ref(ids[j+ahead]))
		}
		if err := b.looked(); err != nil {
			return err
		}
		ok, err := c.set.read(record.Ref(id), b, &b.found)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if more, err := yield(j, &b.found); !more || err != nil {
			return err
		}
	}
	return nil
}
