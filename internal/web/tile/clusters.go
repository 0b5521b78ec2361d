package tile

import (
	"context"
	"math"
	"slices"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/rstar"
)

// mostCells is the initial number of cells to a side of a tile: each is 8
// pixels wide, and as wide as the buffer, so that the clusters next to a border
// are whole in both tiles. Coarser ones in the buffer are left out.
const mostCells = extent / buffer

// cells are the borders of a grid, in units: columns from the west, rows from the
// south, as those of the rstar.Grid.
type cells struct{ columns, rows []int }

// reset makes the borders of a tile with n cells to a side, and those of its
// buffer, except beyond the edge of the world.
func (s *cells) reset(a *area, n int) {
	s.columns, s.rows = s.columns[:0], s.rows[:0]
	if a.x > 0 {
		s.columns = append(s.columns, -buffer)
	}
	if a.y < 1<<a.z-1 {
		s.rows = append(s.rows, extent+buffer)
	}
	for i := range n + 1 {
		s.columns = append(s.columns, i*extent/n)
		s.rows = append(s.rows, extent-i*extent/n)
	}
	if a.x < 1<<a.z-1 {
		s.columns = append(s.columns, extent+buffer)
	}
	if a.y > 0 {
		s.rows = append(s.rows, -buffer)
	}
}

// borders sets those of a grid, in degrees. The grid includes positions on the
// edge of the world.
func (s *cells) borders(g *rstar.Grid, a *area) {
	g.X, g.Y = g.X[:0], g.Y[:0]
	for _, u := range s.columns {
		g.X = append(g.X, a.longitude(float64(u)))
	}
	for _, u := range s.rows {
		g.Y = append(g.Y, a.latitude(float64(u)))
	}
	for _, b := range []*float64{&g.X[len(g.X)-1], &g.Y[len(g.Y)-1]} {
		if *b == 180 || *b == MaxLatitude {
			*b = math.Nextafter(*b, math.Inf(1))
		}
	}
}

// middle returns the middle of a cell, and whether it is in the tile, not in the buffer.
func (s *cells) middle(at int) (m spot, inside bool) {
	i, j := at%(len(s.columns)-1), at/(len(s.columns)-1)
	x, y := (s.columns[i]+s.columns[i+1])/2, (s.rows[j]+s.rows[j+1])/2
	return spot{int32(x), int32(y)}, x > 0 && x < extent && y > 0 && y < extent
}

// clusters draws clusters, and features that are wide or alone in their cell;
// not ok: that is too much. Wider cells give a coarser tile. With one cell
// nothing is drawn, which is not too much.
func (d *drawing) clusters(ctx context.Context, n int) (data []byte, ok bool, err error) {
	g := &d.grid
	d.cells.reset(d.area, n)
	d.cells.borders(g, d.area)
	g.MostWide = d.most
	if n == 1 {
		g.MostWide = -1
	}
	d.shaper.coarse = float64(mostCells / n)
	d.until, d.ids, d.names = 0, d.ids[:0], d.names[:0]
	defer d.layer.clear()
	switch {
	case !d.o.filtered() && d.c.Several():
		return d.clustersOfGroups(ctx, n)
	case !d.o.filtered():
		ok, err = d.c.Own().CountCells(ctx, g, d.o.Pace)
	default:
		ok, err = d.countFound(ctx)
	}
	if !ok || err != nil {
		return nil, false, err
	}
	for i := range g.Wide {
		d.ids = append(d.ids, g.Wide[i].ID)
	}
	for at, in := range g.Counts {
		if in == 0 {
			continue
		}
		switch m, inside := d.cells.middle(at); {
		case !inside && n < mostCells:
		case in == 1 && n > 1:
			d.ids = append(d.ids, g.Only[at])
		case !d.layer.cluster(at, m, in, d.sample.Every):
			return nil, false, nil
		}
	}
	slices.Sort(d.ids)
	d.ids = slices.Compact(d.ids) // A wide feature may have several boxes.
	if len(d.ids) > d.most {
		return nil, false, nil
	}
	if ok, err = d.drawFound(ctx); !ok || err != nil {
		return nil, false, err
	}
	data, ok = d.layer.encode(d.name)
	return data, ok, nil
}

// countFound counts the features that pass the filter, each in the cell of the
// first of its boxes that is in the area. As ids the grid has indexes into
// names, which has all wide features, and the first of each cell.
func (d *drawing) countFound(ctx context.Context) (ok bool, err error) {
	g := &d.grid
	g.Reset()
	area := feature.Box{MinX: g.X[0], MinY: g.Y[0], MaxX: g.X[len(g.X)-1], MaxY: g.Y[len(g.Y)-1]}
	var boxes []feature.Box
	ok = true
	err = d.search(ctx, func(f *store.Found) (bool, error) {
		d.expires(f)
		boxes = f.View.Boxes(boxes[:0])
		i := slices.IndexFunc(boxes, area.Intersects)
		if i < 0 {
			return true, nil // In the buffer, which has no cells.
		}
		b := boxes[i]
		n := standsFor(&d.sample, b)
		if n == 0 {
			return true, nil
		}
		column, row := g.Cell(b.MinX/2+b.MaxX/2, b.MinY/2+b.MaxY/2)
		left, bottom := g.Cell(b.MinX, b.MinY)
		right, top := g.Cell(b.MaxX, b.MaxY)
		wide := g.MostWide >= 0 && (right-left >= 2 || top-bottom >= 2)
		at := row*(len(g.X)-1) + column
		switch {
		case wide:
			g.Wide = append(g.Wide, rstar.Item{ID: uint64(len(d.names))})
			d.names = append(d.names, string(f.ID))
			ok = len(g.Wide) <= g.MostWide
		case column < 0 || row < 0 || column >= len(g.X)-1 || row >= len(g.Y)-1:
		default:
			if g.Counts[at] += n; g.Counts[at] == 1 {
				g.Only[at] = uint64(len(d.names))
				d.names = append(d.names, string(f.ID))
			}
		}
		return ok, nil
	})
	return ok, err
}

// namedAtOnce is how many features are found by their ids and drawn before the
// next pause: 0.1 ms.
const namedAtOnce = 16

// drawFound draws the features of ids; not ok: the tile has no room.
func (d *drawing) drawFound(ctx context.Context) (ok bool, err error) {
	ok = true
	draw := func(f *store.Found) (bool, error) {
		ok = d.feature(f)
		return ok, nil
	}
	if !d.o.filtered() {
		err = d.c.Own().ReadFound(ctx, d.ids, d.o.Pace, func(_ int, f *store.Found) (bool, error) { return draw(f) })
		return ok, err
	}
	names := make([]string, len(d.ids))
	for i, id := range d.ids {
		names[i] = d.names[id]
	}
	err = d.c.GetMany(ctx, names, func(i int, f *store.Found) (bool, error) {
		if i%namedAtOnce == namedAtOnce-1 && d.o.Pace != nil {
			if err := d.o.Pace(); err != nil {
				return false, err
			}
		}
		if f == nil {
			return true, nil // Deleted meanwhile.
		}
		return draw(f)
	})
	return ok, err
}
