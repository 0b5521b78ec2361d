package rstar

import (
	"fmt"
	"math"
)

// Searches in steps
//
// A search of everything takes a tenth of a second or more, in which its goroutine does
// nothing else. A Scan is a search that stops after a given number of nodes and
// continues with the next Step. Between two steps nothing is locked, and Tree.Close
// does not wait for it.
//
// # One pass
//
// A pass has to remember its move counter M and the nodes still to be visited.
// publish.go argues that a pass with an old M is right: it only meets more stamps. So a
// pause does no harm, however long it is, and an answer that was made in one pass keeps
// all promises of doc.go.
//
// # Parts
//
// A pass that meets a move begins again, and the longer it takes the more moves it
// meets. Search makes its ninth pass under the writer's lock. For a long one that keeps
// all writers waiting, so a Scan divides: after four passes it cuts its query in two
// cells, and searches them in order, each by passes of its own, with an M of its own.
// Half of the query takes half of the time and meets half of the moves in that time, a
// quarter of them; where that does not suffice, it is divided again. A cell that takes
// one step is at last searched under the lock, for the time of that step. With 5
// million objects and a hundred moves for each ms of searching, a search of everything
// ends in 30 to 40 cells and reads eight times as many nodes as without moves.
//
// An object that intersects the query belongs to the cell that contains its
// lower left corner, or the point of the query nearest to that corner:
//
//	query  +---------------+-------------+
//	       | cell 1    +---|--+  cell 2  |     the object belongs to
//	       |           |   |  |          |     cell 1: its corner lies there
//	       |           *---|--+          |
//	  +----*---+           |             |     the point of the query nearest
//	  |    |   |           |             |     to the corner: cell 1
//	  +----|---+           |             |
//	       +---------------+-------------+
//
// Cells are closed, and where one ends the next float64 is where the other
// begins: so each point that has coordinates belongs to exactly one of them.
// The point belongs to the object, too, so a search of its cell meets it.
//
// Claim: an object that is in the tree all the time, at one place, is returned exactly
// once. It belongs to one cell. The passes that failed in this cell, and in the cells
// from which it was cut, leave no results; the one that did not fail is a search of its
// own, and finds it once. Passes of other cells may meet it, and drop it.
//
// # What is given up
//
// An object that Update carries from one cell to another while the search runs may be
// in each of the two while that is searched: then it is returned twice, at both places;
// or in neither: then it is missed. This may happen only if the search was divided
// (Parts) and moved the object's corner across a border.
//
// # What cannot be divided
//
// All cells meet an object that covers all of them. Of millions of objects that share
// one point each cell at that point has them all, and dividing does not help. When the
// borders of the objects found cannot be distinguished, or the Scan has divided more
// often than the number of nodes justifies, it makes a whole pass under the lock, in
// one step. For 5 million equal objects that may take 100 ms, in which no write is
// made; and it is done only if moves have made four passes fail.

const (
	// passesOfCell is the number of passes of a cell that meet a move before the cell
	// is divided. Each level of cells may so cost up to three passes that fail; but
	// where moves are frequent passes meet them early.
	passesOfCell = 4
	// lockTries is the number of further passes after which a Scan waits for the
	// writer's lock, instead of making another pass while another goroutine holds it. A
	// writer that holds it for long (Load, Check) does not make passes fail.
	lockTries = 4
)

// Scan is a search, or a count, that is made in steps. It belongs to one
// goroutine at a time.
//
// An answer made in one pass keeps the promises of Search. If moves prevent
// that, the query is searched in parts (Parts). Then an object that stays at
// its place is still returned exactly once, but one that Update moves
// meanwhile from one part to another may be missed, or be returned at both
// places.
type Scan struct {
	t        *Tree
	s        *searcher // nil after Close
	q        Rect
	limit    int // of objects returned
	counting bool
	done     bool
	err      error

	cell    Rect   // that is searched now
	todo    []Rect // cells after it, last first
	cuts    int    // how often a cell was divided
	live    bool   // a pass has begun: s.stack and moves are valid
	moves   uint64 // M of the pass
	visited uint64 // nodes that the pass has read
	passes  int    // of the cell, that met a move
	large   bool   // one of them took longer than a step
	whole   bool   // the cell is to be searched in one step, under the lock

	found     found
	uncounted uint64 // 1 until the statistics include this search
}

// Scan begins a search of q in steps, of at most limit objects if limit is
// positive. q may be infinite; a NaN finds nothing.
func (t *Tree) Scan(q Rect, limit int) *Scan {
	return t.newScan(t.pool.Get().(*searcher), &q, limit, false)
}

// CountScan begins to count the objects that intersect q, in steps.
func (t *Tree) CountScan(q Rect) *Scan {
	return t.newScan(t.pool.Get().(*searcher), &q, 0, true)
}

func (t *Tree) newScan(s *searcher, q *Rect, limit int, counting bool) *Scan {
	if limit <= 0 {
		limit = math.MaxInt
	}
	return &Scan{t: t, s: s, q: *q, cell: *q, limit: limit, counting: counting, uncounted: 1}
}

// Step continues the search for about the given number of nodes, and reports whether it
// has ended, also by an error. A node takes 0.1 to 0.3 us: 1024 are some 100 to 300 us.
// A step may be much shorter, after a move. It waits for a writer, for the time of one
// write, only if eight passes of one part have met moves. It is longer only where very
// many objects share a point, and after four passes that met moves: then it searches
// all of these at once, under the writer's lock.
func (c *Scan) Step(nodes int) (done bool) {
	if c.done {
		return true
	}
	if !c.t.enter(c.s) {
		c.fail(fmt.Errorf("%w: a search in steps was not finished", ErrClosed))
		return true
	}
	c.step(uint64(max(nodes, 1)))
	c.t.exit(c.s, c.uncounted)
	c.uncounted = 0
	return c.done
}

// Err is the reason why the search ended without an answer: it wraps ErrClosed if the
// tree was closed, and ErrCheck if its bytes are damaged. It is nil before the end.
// Searching again is useless.
func (c *Scan) Err() error { return c.err }

// Count is the number of objects found, when the search has ended. Before, it is the
// number found so far, which may include some of a pass that will begin again.
func (c *Scan) Count() int { return c.found.total }

// Parts is the number of parts in which the query is searched so far. If it is 1 at the
// end, the answer keeps all promises of Search.
func (c *Scan) Parts() int { return c.cuts + 1 }

// Close gives the memory back, at any time. The Scan, and what Take returned,
// must not be used afterwards. A Scan that is not closed is ordinary garbage.
func (c *Scan) Close() {
	if c.s == nil {
		return
	}
	c.done = true
	c.found.release(c.t)
	c.s.boxes = nil
	c.t.pool.Put(c.s)
	c.s = nil
}

func (c *Scan) fail(err error) {
	c.done, c.live, c.err = true, false, err
	c.found.release(c.t)
	c.found.total = 0
}
