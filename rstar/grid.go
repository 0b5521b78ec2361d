package rstar

import (
	"math"
	"slices"
)

// Counts by cells
//
// An object is counted in the cell that has its center. A leaf whose box lies in one
// cell is counted by its header line alone, so a map of the whole world reads one
// line of most leaves, not thirty, and compares no object:
//
//	+------+------+------+
//	| [==] |    [=|==]   |   left: a leaf in one cell, its number of objects is
//	|      |      |      |   added; right: its objects are looked at, one by one
//	+------+------+------+
//
// # Why no object is counted in a cell where it is not
//
// A pass is that of a search (publish.go), but for these leaves. Their boxes are in
// their parents, which are read before them; if an object comes to the leaf later, the
// box that was read may not cover it. At each instant the boxes of a path cover all
// objects below (publish.go, What moves nothing). So the parent is one unit: its
// version is read, then its boxes, then the leaves' header lines, and then its version
// again. If that is the same, the boxes did not change in between, and so covered the
// objects that the header lines have counted. If not, nothing of it counts, and the
// parent is visited again.
//
// The line that is read has the leaf's version and stamp, which show that it is the
// leaf meant and that no move has changed it.

// Grid is an area of columns and rows, and the counts of its cells.
type Grid struct {
	// X, Y are the borders of columns and rows, finite and ascending: cell (i, j)
	// has the centers with X[i] <= x < X[i+1] and Y[j] <= y < Y[j+1]. There are
	// at most 65,535 of either.
	X, Y []float64
	// MostWide bounds the number of wide objects wanted. A wide object touches three
	// columns or three rows, or more. Less than 0: none is wide.
	MostWide int

	// Counts of objects that are not wide: cell (i, j) at j*(len(X)-1)+i.
	Counts []uint32
	// Only is the id of the only object of a cell, where one is counted.
	Only []uint64
	// Wide are the wide objects that intersect the area, in no particular order.
	Wide []Item

	cols, rows axis
	between    func() // of tests: called when boxes are read, before the leaves below
}

// Reset makes the grid ready for counting. It allocates only for more cells than
// before.
func (g *Grid) Reset() {
	n := (len(g.X) - 1) * (len(g.Y) - 1)
	g.Counts, g.Only = slices.Grow(g.Counts[:0], n)[:n], slices.Grow(g.Only[:0], n)[:n]
	clear(g.Counts)
	clear(g.Only)
	g.Wide = g.Wide[:0]
	g.cols.reset(g.X)
	g.rows.reset(g.Y)
}

// Cell is the column and the row that have a point: -1 before the first border,
// len(X)-1 or len(Y)-1 from the last on. The grid must be Reset.
func (g *Grid) Cell(x, y float64) (column, row int) { return g.cols.cell(x), g.rows.cell(y) }

// CountCells counts the objects of some rows of a grid that is Reset, from the row
// first to the one before last; each row is counted by one call. A call is one search:
// an object that is in the tree during all of it is counted once. Rows that are counted
// by several calls are several searches. ok is false if there were more wide objects
// than wanted; then nothing in g is of use. It allocates only for Wide.
//
// A pass that meets a move begins again, the ninth time under the writer's lock, as
// that of Count, so an area of many objects is better counted a few rows at a time.
func (t *Tree) CountCells(g *Grid, first, last int) (ok bool) {
	s := t.pool.Get().(*searcher)
	defer t.pool.Put(s)
	if first >= last || !t.enter(s) {
		return true
	}
	p := gridPass{
		t: t, s: s, g: g, first: first, last: last, wide: len(g.Wide),
		q: Rect{g.X[0], g.Y[first], g.X[len(g.X)-1], g.Y[last]},
	}
	t.attempt(s, p.run)
	t.exit(s, 1)
	return !p.tooMany
}

// gridPass is one call of CountCells.
type gridPass struct {
	t           *Tree
	s           *searcher
	g           *Grid
	q           Rect
	first, last int // rows
	wide        int // wide objects before
	tooMany     bool
	whole       [maxFanout]wholeLeaf
}

// wholeLeaf is the number of objects of a leaf in one cell.
type wholeLeaf struct{ cell, count uint32 }

// run makes a pass; false: it met a move.
func (p *gridPass) run() bool {
	t, s := p.t, p.s
	w := len(p.g.X) - 1
	clear(p.g.Counts[p.first*w : p.last*w])
	clear(p.g.Only[p.first*w : p.last*w])
	p.g.Wide = p.g.Wide[:p.wide]
	moves := t.begin(s)
	for tries := 0; len(s.stack) > 0; tries++ {
		top := len(s.stack) - 1
		r := s.stack[top]
		if uint64(r.chunk) >= t.chunks || tries > maxRetries {
			return false
		}
		n := t.nodeAt(r.chunk)
		v, count, verdict := t.open(n, r, moves)
		if verdict == nodeMoved {
			return false
		}
		fine := verdict == nodeOK
		if fine {
			s.stack = s.stack[:top]
			if r.level == 0 {
				fine = p.leaf(n, v, count)
			} else {
				fine = p.inner(n, v, count, r.level-1, moves)
			}
		}
		if !fine {
			s.stack = append(s.stack[:top], r)
			s.retries++
			continue
		}
		if p.tooMany {
			return true
		}
		s.reads++
		tries = -1
	}
	return true
}

// leaf counts the objects of a leaf; false: it has changed, and nothing counts.
func (p *gridPass) leaf(n *uint64, v uint64, count int) bool {
	t, s := p.t, p.s
	if top := len(s.stack); top >= lookahead {
		t.prefetch(s.stack[top-lookahead].chunk, t.nodeLines)
	}
	var m masks
	m.scanLeaf(n, count, &p.q)
	s.items = m.appendItems(s.items[:0], n, t.groups, &p.q)
	if !unchanged(n, v) {
		return false
	}
	for i := range t.shownOf(s.items, 0) {
		p.object(&s.items[i])
	}
	return true
}

// object counts an object that intersects the rows.
func (p *gridPass) object(it *Item) {
	g, r := p.g, &it.Rect
	x, y := g.cols.cell(centerX(*r)), g.rows.cell(centerY(*r))
	if g.MostWide >= 0 && !r.isPoint() &&
		(g.cols.cell(r.MaxX)-g.cols.cell(r.MinX) >= 2 || g.rows.cell(r.MaxY)-g.rows.cell(r.MinY) >= 2) {
		// The rows nearest to its center have it, so that it is given once.
		if y = min(max(y, 0), len(g.Y)-2); y < p.first || y >= p.last {
			return
		}
		if p.tooMany = len(g.Wide) == g.MostWide; !p.tooMany {
			g.Wide = append(g.Wide, *it)
		}
		return
	}
	if y >= p.first && y < p.last && x >= 0 && x < len(g.X)-1 {
		at := y*(len(g.X)-1) + x
		g.Counts[at]++
		g.Only[at] ^= it.ID
	}
}

func (r *Rect) isPoint() bool { return r.MinX == r.MaxX && r.MinY == r.MaxY }

// inner visits an internal node, whose children have a level; false: it has changed,
// and nothing counts.
func (p *gridPass) inner(n *uint64, v uint64, count int, level int32, moves uint64) bool {
	t, s := p.t, p.s
	top := len(s.stack)
	var m masks
	m.scanInner(n, count, &p.q)
	if level > 0 {
		s.stack = m.appendRefs(s.stack, n, level)
		for i := top; i < len(s.stack); i++ {
			t.prefetch(s.stack[i].chunk, t.nodeLines)
		}
		return unchanged(n, v)
	}
	f := loadFrame(n)
	inv := f.inverse()
	// All leaves' header lines are asked for before the first is read.
	whole := p.whole[:0]
	for bit := m.next(); bit >= 0; bit = m.next() {
		g, w := groupAt(n, bit/16), bit%16
		r := ref{g.half(w + fieldRef), level}
		box := Rect{
			f.value(math.Float32frombits(g.half(w)), f.hx, inv), f.value(math.Float32frombits(g.half(w+fieldMinY)), f.hy, inv),
			f.value(math.Float32frombits(g.half(w+fieldMaxX)), f.hx, inv), f.value(math.Float32frombits(g.half(w+fieldMaxY)), f.hy, inv),
		}
		cell, one := p.oneCell(&box)
		if !one {
			s.stack = append(s.stack, r)
			continue
		}
		t.prefetch(r.chunk, 1)
		whole = append(whole, wholeLeaf{cell, r.chunk})
	}
	if p.g.between != nil {
		p.g.between()
	}
	kept := whole[:0]
	for _, l := range whole {
		r := ref{l.count, level}
		if uint64(r.chunk) >= t.chunks {
			return false
		}
		ln := t.nodeAt(r.chunk)
		lv, objects, fine := peek(ln, r, moves)
		if !fine || !unchanged(ln, lv) || objects < 2 {
			s.stack = append(s.stack, r) // Only needs the id of one object, which the visit finds.
			continue
		}
		if l.cell != nowhere {
			kept = append(kept, wholeLeaf{l.cell, uint32(objects)})
		}
	}
	if !unchanged(n, v) {
		return false
	}
	for _, l := range kept {
		p.g.Counts[l.cell] += l.count
	}
	s.reads += uint64(len(kept))
	return true
}

// nowhere is the cell of a box that only touches the rows.
const nowhere = math.MaxUint32

// oneCell is the cell in which a box lies, if it lies in one.
func (p *gridPass) oneCell(b *Rect) (cell uint32, ok bool) {
	g := p.g
	x, y := g.cols.cell(b.MinX), g.rows.cell(b.MinY)
	switch {
	case x != g.cols.cell(b.MaxX) || y != g.rows.cell(b.MaxY):
		return 0, false
	case x < 0 || x > len(g.X)-2 || y < p.first || y >= p.last:
		return nowhere, true
	}
	return uint32(y*(len(g.X)-1) + x), true
}

// axis finds columns, or rows: a table leads to the first candidate, since borders are
// about equally far apart.
type axis struct {
	borders []float64
	start   [256]uint16
	scale   float64
}

func (a *axis) reset(borders []float64) {
	a.borders = borders
	from, to := borders[0], borders[len(borders)-1]
	a.scale = float64(len(a.start)) / (to - from)
	c := 0
	for i := range a.start {
		for c < len(borders)-2 && a.slot(borders[c+1]) <= i {
			c++
		}
		// Not c: the last border before a value may be in the value's slot.
		a.start[i] = uint16(c)
		for a.start[i] > 0 && a.slot(borders[a.start[i]]) == i {
			a.start[i]--
		}
	}
}

// slot is monotone, so values in an earlier slot are less.
func (a *axis) slot(v float64) int {
	return min(max(int((v-a.borders[0])*a.scale), 0), len(a.start)-1)
}

// cell of v: -1 before the first border, len(borders)-1 from the last on.
func (a *axis) cell(v float64) int {
	last := len(a.borders) - 1
	switch {
	case !(v >= a.borders[0]):
		return -1
	case v >= a.borders[last]:
		return last
	}
	c := int(a.start[a.slot(v)])
	for v >= a.borders[c+1] {
		c++
	}
	return c
}
