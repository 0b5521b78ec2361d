package whole

import (
	"context"
	"fmt"
	"sync"

	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/rstar"
)

// SearchSample is SearchWith of the features of a sample.
func (c Collection) SearchSample(ctx context.Context, p *store.Prepared, s *Sample, b *store.Buffer, yield func(*store.Found) (bool, error)) error {
	if s.none() {
		return c.SearchWith(ctx, p, b, yield)
	}
	if c.of == nil {
		p.Sample = s.Wants
		return c.own.SearchWith(ctx, p, b, yield)
	}
	return c.of.search(ctx, c.own, p, s, b, yield)
}

// CountBoxes returns the number of boxes of an area, if that is not more than most.
func (c Collection) CountBoxes(ctx context.Context, p *store.Prepared, most int) (n int, all bool, err error) {
	if c.of == nil {
		return countBoxes(ctx, c.own, p.Boxes(), most)
	}
	n, _, err = c.of.boxes(ctx, c.own, p, request{Most: most})
	return n, n <= most, err
}

// CountLarge counts the boxes of an area, and those that are large.
func (c Collection) CountLarge(ctx context.Context, p *store.Prepared, s *Sample) (n, large int, err error) {
	if c.of == nil {
		p.Sample = func(r rstar.Rect) bool {
			n++
			if s.Large(r) {
				large++
			}
			return false
		}
		defer func() { p.Sample = nil }()
		b := buffers.Get().(*store.Buffer)
		defer buffers.Put(b)
		return n, large, c.own.SearchWith(ctx, p, b, func(*store.Found) (bool, error) { return true, nil })
	}
	return c.of.boxes(ctx, c.own, p, request{Sample: s.text()})
}

// boxes counts those of an area; r says which.
func (k *Groups) boxes(ctx context.Context, c *store.Collection, p *store.Prepared, r request) (n, large int, err error) {
	r.Op, r.Collection = opBoxes, c.Name()
	if r.Query, err = textOf(&store.Query{Area: p.Area}, c.Options().Space); err != nil {
		return 0, 0, err
	}
	answers, err := k.ofAll(ctx, r)
	for i := range answers {
		n, large = n+answers[i].N, large+answers[i].Matched
	}
	return n, large, err
}

// InCell is a feature that is alone in its cell, among those of its group, or wide.
type InCell struct {
	store.Found
	Cell int // less than 0: it is wide
}

// Cells is store.Collection.CountCells of several groups. With draw it returns the features, too,
// for which the grid has ids. It is not ok if there are too many wide ones.
func (c Collection) Cells(ctx context.Context, p *store.Prepared, g *rstar.Grid, draw bool) (ok bool, found []InCell, err error) {
	t, err := textOf(&store.Query{}, c.Options().Space)
	if err != nil {
		return false, nil, err
	}
	if p.Hold != nil {
		defer func() { _ = p.Hold(0) }()
	}
	err = c.of.byMap(ctx, func(v *View) error {
		var mu sync.Mutex
		g.Reset()
		ok, found = true, nil
		held, wide := int64(0), 0
		r := request{Op: opCells, Epoch: v.Map.Epoch, Collection: c.Name(), Query: t, Grid: &gridText{g.X, g.Y, g.MostWide, draw}}
		return c.of.fromAll(ctx, v, v.having(), func(ctx context.Context, _, group int) error {
			a, err := c.of.ask(ctx, v, group, &r, func(f *store.Found, tag int32) (bool, error) {
				if tag < tagWide || int(tag) >= len(g.Counts) {
					return false, fmt.Errorf("%w: cell %d of %d", errFormat, tag, len(g.Counts))
				}
				mu.Lock()
				defer mu.Unlock()
				found = append(found, InCell{f.Clone(), int(tag)})
				if tag == tagWide {
					wide++
				}
				held += int64(len(f.ID) + len(f.Value) + foundBytes)
				if p.Hold != nil {
					return true, p.Hold(held)
				}
				return true, nil
			})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				return err
			case a.Cells == nil || !a.Cells.TooMany && len(a.Cells.Counts) != len(g.Counts):
				return fmt.Errorf("%w: counts of another grid", errFormat)
			case a.Cells.TooMany:
				ok = false
			}
			for i, n := range a.Cells.Counts {
				g.Counts[i] += n
			}
			ok = ok && (g.MostWide < 0 || wide <= g.MostWide)
			return nil
		})
	})
	return ok && err == nil, found, err
}
