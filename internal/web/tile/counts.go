package tile

import (
	"context"
	"fmt"
	"math"

	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/whole"
)

const (
	// MaxCells is how many cells Counts counts: those of 8 pixels of a screen
	// of 1024 by 1024.
	MaxCells = 1 << 14
	// MaxCellZoom is the zoom of the smallest cells: 64 to a side of the smallest tile.
	MaxCellZoom = MaxZoom + 6
)

// Cell is a part of an area, in degrees, and its number of boxes of features.
type Cell struct {
	West, South, East, North float64
	Count                    int
}

// Middle returns the middle of the cell as maps show it, in Web Mercator.
func (c *Cell) Middle() (longitude, latitude float64) {
	y := func(latitude float64) float64 { return math.Asinh(math.Tan(latitude * math.Pi / 180)) }
	return (c.West + c.East) / 2, math.Atan(math.Sinh((y(c.South)+y(c.North))/2)) * 180 / math.Pi
}

// Counts counts features by cells, for clusters and heat maps: the cells are
// tiles of a zoom, the same for any area. It returns the cells that meet the
// area and are not empty, whole ones, from the south-west, rows from west to
// east. An area with west > east crosses 180 degrees.
//
// Without a condition (Options.Filter, Where) Counts counts boxes, as in a tile's clusters,
// from counts of whole leaves of the tree where they lie in one cell; with one, features.
// Of the other options it uses Pace and Hold. If sampled is not 0, more than MaxFiltered
// boxes are in the area, and the counts are those of a sample (Tile.Sampled). ErrTooMany:
// more than MaxCells; a smaller area or larger cells have fewer.
func (b *Builder) Counts(ctx context.Context, c whole.Collection, west, south, east, north float64, zoom int, o Options) (all []Cell, sampled int, err error) {
	if zoom < 0 || zoom > MaxCellZoom {
		return nil, 0, fmt.Errorf("%w: cells of zoom %d, want 0 to %d", ErrNoTile, zoom, MaxCellZoom)
	}
	if err := geographic(c); err != nil {
		return nil, 0, err
	}
	q, err := c.Prepare(store.Query{Area: query.Box(west, south, east, north), Filter: o.Filter, Where: o.Where, Pace: o.Pace, Hold: o.Hold})
	if err != nil {
		return nil, 0, err
	}
	world := &area{n: float64(uint(1) << zoom)}
	pieces, n := spansOf(world, q)
	if n > MaxCells {
		return nil, 0, fmt.Errorf("%w: %.0f cells of zoom %d, at most %d", ErrTooMany, n, zoom, MaxCells)
	}
	d := &drawing{scratch: scratches.Get().(*scratch), c: c, o: o, most: MaxFeatures, filtered: b.maxFiltered()}
	defer scratches.Put(d.scratch)
	for _, p := range pieces {
		if all, err = d.counts(ctx, all, world, p); err != nil {
			return nil, 0, err
		}
		sampled = max(sampled, d.sample.Every)
	}
	return all, sampled, nil
}

// span is some columns and rows of cells; rows are from the north.
type span struct{ left, top, right, bottom int }

// spansOf returns the cells that meet an area, each once, and their number.
func spansOf(world *area, q *store.Prepared) (all []span, cells float64) {
	at := func(units float64) int { return int(min(max(math.Floor(units/extent), 0), world.n-1)) }
	for _, b := range q.Boxes() {
		low, high := world.project([2]float64{b.MinX, b.MinY}, 0), world.project([2]float64{b.MaxX, b.MaxY}, 0)
		s := span{at(low[0]), at(high[1]), at(high[0]), at(low[1])}
		for _, o := range all { // They have the same rows.
			if s.left >= o.left && s.left <= o.right {
				s.left = o.right + 1
			}
			if s.right >= o.left && s.right <= o.right {
				s.right = o.left - 1
			}
		}
		if s.left <= s.right {
			all = append(all, s)
			cells += float64(s.right-s.left+1) * float64(s.bottom-s.top+1)
		}
	}
	return all, cells
}

// counts appends the cells of a span.
func (d *drawing) counts(ctx context.Context, all []Cell, world *area, p span) (_ []Cell, err error) {
	s, g := &d.cells, &d.grid
	s.columns, s.rows = s.columns[:0], s.rows[:0]
	for i := p.left; i <= p.right+1; i++ {
		s.columns = append(s.columns, i*extent)
	}
	for j := p.bottom + 1; j >= p.top; j-- {
		s.rows = append(s.rows, j*extent)
	}
	s.borders(g, world)
	g.MostWide = -1
	switch {
	case !d.o.filtered() && d.c.Several():
		_, _, err = d.c.Cells(ctx, d.q, g, false)
	case !d.o.filtered():
		_, err = d.c.Own().CountCells(ctx, g, d.o.Pace)
	default:
		err = d.countFiltered(ctx)
	}
	if err != nil {
		return nil, err
	}
	columns := len(g.X) - 1
	for i, n := range g.Counts {
		if n > 0 {
			x, y := i%columns, i/columns
			all = append(all, Cell{g.X[x], g.Y[y], min(g.X[x+1], 180), min(g.Y[y+1], MaxLatitude), int(n)})
		}
	}
	return all, nil
}

// countFiltered is countFound of all cells of the grid: the requested area is a
// part of them.
func (d *drawing) countFiltered(ctx context.Context) (err error) {
	g := &d.grid
	d.q, err = d.c.Prepare(store.Query{
		Area:   query.Box(g.X[0], g.Y[0], min(g.X[len(g.X)-1], 180), min(g.Y[len(g.Y)-1], MaxLatitude)),
		Filter: d.o.Filter, Where: d.o.Where, Pace: d.o.Pace, Hold: d.o.Hold,
	})
	if err != nil {
		return err
	}
	d.sample = whole.Sample{Width: math.Inf(1), Height: math.Inf(1)} // No shapes are drawn.
	switch _, few, err := d.c.CountBoxes(ctx, d.q, d.filtered); {
	case err != nil:
		return err
	case !few:
		if err := d.sampledBeside(ctx); err != nil {
			return err
		}
	}
	d.names = d.names[:0]
	_, err = d.countFound(ctx)
	return err
}
