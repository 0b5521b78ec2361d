package tile

import (
	"context"
)

// clustersOfGroups is the rest of clusters for a collection of several groups: each has counted
// its own, and given the features that are wide, or alone in their cell there.
func (d *drawing) clustersOfGroups(ctx context.Context, n int) (data []byte, ok bool, err error) {
	ok, found, err := d.c.Cells(ctx, d.q, &d.grid, n > 1)
	if !ok || err != nil {
		return nil, false, err
	}
	alone := func(at int) bool { return d.grid.Counts[at] == 1 && n > 1 }
	for at, in := range d.grid.Counts {
		m, inside := d.cells.middle(at)
		if in == 0 || !inside && n < mostCells || alone(at) {
			continue
		}
		if !d.layer.cluster(at, m, in, 0) {
			return nil, false, nil
		}
	}
	drawn := map[string]bool{} // A feature may have several boxes.
	for i := range found {
		f := &found[i]
		if f.Cell >= 0 {
			if _, inside := d.cells.middle(f.Cell); !alone(f.Cell) || !inside && n < mostCells {
				continue
			}
		}
		if drawn[string(f.ID)] {
			continue
		}
		drawn[string(f.ID)] = true
		if len(drawn) > d.most || !d.feature(&f.Found) {
			return nil, false, nil
		}
	}
	data, ok = d.layer.encode(d.name)
	return data, ok, nil
}
