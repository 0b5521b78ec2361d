package paper

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/catfish-index/catfish/bench/micro"
	"github.com/catfish-index/catfish/bench/netns"
	"github.com/catfish-index/catfish/internal/child"
)

// MicroRunner measures the points of figure 9 that its Store lacks, as Runner
// does for the others.
type MicroRunner struct {
	Settings Settings
	Store    *MicroStore
	Spawn    child.Spawn
	// Note gets lines about progress, Progress is called after each point.
	// Both are called from Run's goroutine.
	Note     func(string)
	Progress func(Progress[MicroPoint])

	now func() time.Time // time.Now, except in tests
}

// Missing counts the points of cells that the store lacks.
func (r *MicroRunner) Missing(cells []MicroCell) int {
	n := 0
	for _, c := range cells {
		n += len(r.left(c))
	}
	return n
}

// left returns the sizes of a cell that the store lacks.
func (r *MicroRunner) left(c MicroCell) []int {
	return slices.DeleteFunc(slices.Clone(c.Sizes), func(n int) bool { return r.Store.Has(c.Key(n)) })
}

// Run measures the missing points and stores each as soon as it is measured.
// Networks are removed before it returns.
func (r *MicroRunner) Run(ctx context.Context, cells []MicroCell) error {
	if r.now == nil {
		r.now = time.Now
	}
	p := Progress[MicroPoint]{Total: r.Missing(cells)}
	began := r.now()
	var missing []MicroCell
	for _, c := range cells {
		if c.Sizes = r.left(c); len(c.Sizes) > 0 {
			missing = append(missing, c)
		}
	}
	return overNetworks(ctx, missing, func(c MicroCell) Network { return c.Network }, r.Note, func(c MicroCell, link *netns.Link) error {
		return r.cell(ctx, c, link, func(pt MicroPoint) error {
			if err := r.Store.Add(pt); err != nil {
				return err
			}
			p.Done++
			p.Left = r.now().Sub(began) / time.Duration(p.Done) * time.Duration(p.Total-p.Done)
			p.Point = pt
			r.Progress(p)
			return nil
		})
	})
}

// cell measures one cell and hands over a point for each size.
func (r *MicroRunner) cell(ctx context.Context, c MicroCell, link *netns.Link, keep func(MicroPoint) error) error {
	cfg, err := c.config(r.Settings)
	if err != nil {
		return err
	}
	spawn, entered := within(link, r.Spawn)
	err = micro.Run(ctx, cfg, spawn, r.Note, func(row micro.Row) error {
		return keep(MicroPoint{
			Key: c.Key(row.Bytes), Network: c.Network, Measured: r.now().UTC().Round(time.Second),
			Settings: r.Settings, Row: row,
		})
	})
	return errors.Join(*entered, err)
}
