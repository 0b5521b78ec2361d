package whole

import (
	"context"
	"slices"

	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/rstar"
)

// What tiles need
//
// A tile of several groups is drawn by the member that is asked for it, of what the groups have:
//
//	Boxes    how many boxes of features are in its area
//	Cells    these by cells of a grid, added up; and the features that a group would draw, as they
//	         are wide or alone in their cell there
//
// Searches are those of search.go.

// boxes counts the boxes of an area: up to somewhat more than Most, or all, with those that
// are large.
func (p *part) boxes(q store.Query) (a answer, err error) {
	ready, err := p.c.Prepare(q)
	if err != nil {
		return a, err
	}
	if s := p.r.Sample; s != nil {
		a.N, a.Matched, err = OfOne(p.c).CountLarge(p.ctx, ready, s.sample())
		return a, err
	}
	a.N, _, err = countBoxes(p.ctx, p.c, ready.Boxes(), p.r.Most)
	return a, err
}

// countNodes is how many nodes one step counts: 0.1 ms.
const countNodes = 512

// countBoxes returns the number of a collection's boxes in some, if that is not more than most.
func countBoxes(ctx context.Context, c *store.Collection, boxes []rstar.Rect, most int) (n int, all bool, err error) {
	for _, r := range boxes {
		in, rest := c.Tree().CountSome(r, countNodes)
		if rest != nil { // The count is long, or a move interrupted it.
			if in, err = countOn(ctx, rest, most); err != nil {
				return 0, false, err
			}
		}
		if n += in; n > most {
			return n, false, nil
		}
	}
	return n, true, nil
}

// countOn continues a count, until there are surely more than most boxes: a
// pass that will restart may count twice a box that moved meanwhile.
func countOn(ctx context.Context, rest *rstar.Scan, most int) (int, error) {
	defer rest.Close()
	for !rest.Step(countNodes) && rest.Count() <= 2*most {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
	return rest.Count(), rest.Err()
}

// cells counts by the cells of a grid.
func (p *part) cells() (a answer, err error) {
	t := p.r.Grid
	g := rstar.Grid{X: t.X, Y: t.Y, MostWide: t.MostWide}
	ok, err := p.c.CountCells(p.ctx, &g, p.turn.Pause)
	if err != nil || !ok {
		a.Cells = &cellsText{TooMany: true}
		return a, err
	}
	a.Cells = &cellsText{Counts: g.Counts}
	if !t.Draw {
		return a, nil
	}
	tags := map[uint64]int32{}
	var ids []uint64
	for at, n := range g.Counts {
		if n == 1 {
			tags[g.Only[at]] = int32(at)
			ids = append(ids, g.Only[at])
		}
	}
	for i := range g.Wide {
		tags[g.Wide[i].ID] = tagWide
		ids = append(ids, g.Wide[i].ID)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids) // A feature may have several boxes.
	return a, p.readFound(ids, tags)
}

// readFound reads features that the tree's entries lead to, and then gives them: the entries are
// valid for a second.
func (p *part) readFound(ids []uint64, tags map[uint64]int32) error {
	found, of := make([]store.Found, 0, len(ids)), make([]int32, 0, len(ids))
	size := int64(0)
	err := p.c.ReadFound(p.ctx, ids, p.turn.Pause, func(i int, f *store.Found) (bool, error) {
		found, of = append(found, f.Clone()), append(of, tags[ids[i]])
		size += int64(len(f.ID) + len(f.Value) + foundBytes)
		return true, p.hold(size)
	})
	for i := range found {
		if err != nil {
			break
		}
		var more bool
		if more, err = p.give(&found[i], of[i]); !more {
			break
		}
	}
	return err
}
