package datasets

import (
	"math"

	"github.com/catfish-index/catfish/rstar"
)

// rea02-like: a substitute for the real rea02
//
// rea02 (Beckmann and Seeger's benchmark: the street segments of
// California) cannot be shipped. What matters to an index is rebuilt
// from its published description, in the unit square:
//
//	+-----------+---------------------+   1. The square is cut into
//	|           |  row 0  -- | - -    |      sub-regions of about 20,000
//	|  region   |  row 1 - --  | /    |      objects by cuts at random
//	|    17     |  ...               |      places: as many objects on
//	|           +------+--------------+      small areas (towns) as on
//	|           |      |  region 3    |      large ones (desert).
//	+-----------+------+--------------+   2. The sub-regions come in
//	                                         random order.
//	3. Inside one, rows go from north to south, each row from west to
//	   east. Along a row, runs of close segments (a settlement) alternate
//	   with gaps.
//	4. A segment's box is thin (streets along an axis) or, one in ten,
//	   fat (diagonal streets).
//
// So consecutive insertions are neighbours, and an R*-tree that is built by
// single insertions meets the order that the paper's section V-C calls the
// hardest. Shapes and densities are plausible, not fitted to the real set:
// figures measured on one say nothing exact about the other.

const (
	// Rea02LikeObjects is the size of the real rea02.
	Rea02LikeObjects = 1_888_012
	// regionObjects is the size of a sub-region (section V-C).
	regionObjects = 20_000
	// A cut leaves each half between 30 % and 70 % of the area. Over the
	// seven levels of about 94 regions, densities differ up to some
	// hundredfold, as between a town and its surroundings.
	cutMin, cutMax = 0.3, 0.7
	// Along a row, a settlement has 1 to 32 segments; the gap before it
	// is up to 20 times as wide as those inside.
	settlementMax, gapFactor = 32, 20
)

// Rea02Like generates n objects by the recipe of the real rea02; ids
// count from 0 in the order of insertion. If n is 0 it is Rea02LikeObjects.
// Memory does not grow with n beyond 40 bytes per sub-region.
func Rea02Like(n int64, seed uint64) *Source {
	n = orDefault(n, Rea02LikeObjects)
	s := generator("rea02-like", n)
	s.pass = func(p *pass) error {
		var id uint64
		for _, reg := range regions(n, seed) {
			err := reg.streets(func(r rstar.Rect, _ int) error {
				p.generatedUpTo(int64(id))
				id++
				return p.deliver(r, id-1)
			})
			if err != nil {
				return err
			}
		}
		s.done.Store(n)
		return nil
	}
	return s
}

// region is one sub-region: its number of objects and its area.
type region struct {
	box rstar.Rect
	n   int64
	rnd *stream
}

// regions cuts the unit square for n objects and shuffles the pieces.
func regions(n int64, seed uint64) []region {
	count := max(1, (n+regionObjects/2)/regionObjects)
	rnd := newStream(seed, purposeRegions, 0)
	all := make([]region, 0, count)
	var cut func(box rstar.Rect, k int64)
	cut = func(box rstar.Rect, k int64) {
		if k == 1 {
			i := int64(len(all))
			share := n / count
			if i < n%count {
				share++
			}
			all = append(all, region{box, share, newStream(seed, purposeStreets, uint64(i))})
			return
		}
		at := cutMin + float64((cutMax-cutMin)*rnd.halfOpen())
		a, b := box, box
		if w, h := box.MaxX-box.MinX, box.MaxY-box.MinY; w >= h {
			a.MaxX = box.MinX + float64(w*at)
			b.MinX = a.MaxX
		} else {
			a.MaxY = box.MinY + float64(h*at)
			b.MinY = a.MaxY
		}
		cut(a, k/2)
		cut(b, k-k/2)
	}
	cut(unitSquare, count)
	for i := len(all) - 1; i > 0; i-- {
		j := rnd.below(uint64(i) + 1)
		all[i], all[j] = all[j], all[i]
	}
	return all
}

// streets calls yield with the region's objects and their row, counted
// from the north.
func (g region) streets(yield func(r rstar.Rect, row int) error) error {
	rows := max(1, int64(math.Sqrt(float64(g.n))))
	height := (g.box.MaxY - g.box.MinY) / float64(rows)
	var gaps []float64
	for row := range rows {
		n := g.n / rows
		if row < g.n%rows {
			n++
		}
		south := g.box.MaxY - float64(height*float64(row+1))
		south = max(south, g.box.MinY) // rounding
		gaps = g.gaps(gaps[:0], n)
		sum := 0.0
		for _, gap := range gaps {
			sum += gap
		}
		unit := (g.box.MaxX - g.box.MinX) / sum
		at := 0.0
		for _, gap := range gaps[:n] {
			at += gap
			west := min(g.box.MinX+float64(unit*at), g.box.MaxX)
			r := g.segment(west, south, unit, height)
			if err := yield(r, int(row)); err != nil {
				return err
			}
		}
	}
	return nil
}

// gaps appends the distances between n segments of a row and its ends,
// in units of the largest distance within a settlement.
func (g region) gaps(dst []float64, n int64) []float64 {
	var left uint64 // segments left in this settlement
	for range n {
		if left == 0 {
			left = 1 + g.rnd.below(settlementMax)
			dst = append(dst, float64(gapFactor*g.rnd.positive()))
		} else {
			dst = append(dst, g.rnd.positive())
		}
		left--
	}
	return append(dst, g.rnd.positive()) // to the eastern end
}

// segment returns the box of a street that begins at west in the row above
// south: 45 % run west to east, 45 % south to north, 10 % in between. Its
// length is 0.2 to 1 units, so that streets of a settlement occasionally
// touch and cross.
func (g region) segment(west, south, unit, height float64) rstar.Rect {
	kind := g.rnd.below(100)
	length := unit * (0.2 + float64(0.8*g.rnd.halfOpen()))
	slant := g.rnd.halfOpen()
	w, h := length, length
	switch {
	case kind < 45:
		h = length * float64(0.1*slant)
	case kind < 90:
		w = length * float64(0.1*slant)
	default:
		h = length * slant
	}
	y := min(south+float64(height*g.rnd.halfOpen()), g.box.MaxY)
	return rstar.Rect{
		MinX: west, MinY: y,
		MaxX: min(west+float64(w), g.box.MaxX),
		MaxY: min(y+float64(h), g.box.MaxY),
	}
}
