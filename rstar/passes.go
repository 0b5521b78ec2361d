package rstar

import "fmt"

// The passes of a Scan (steps.go), cell by cell.

// step reads up to most nodes.
func (c *Scan) step(most uint64) {
	for !c.done && c.s.reads < most {
		switch {
		case c.live:
			if !c.walk(most) {
				c.met(most)
				return // the writer may end its move
			}
		case c.passes < passesOfCell:
			c.begin()
		case c.s.reads > 0:
			return // a step under the lock does nothing else
		case c.lock():
			c.locked(most)
			c.t.mu.Unlock()
			return
		default:
			c.begin()
		}
	}
}

// begin begins a pass of the cell.
func (c *Scan) begin() {
	c.moves = c.t.begin(c.s)
	c.live, c.visited = true, 0
}

// met drops the objects that a pass has found before it met a move.
func (c *Scan) met(most uint64) {
	c.large = c.large || c.visited > most
	c.live = false
	c.passes++
	c.s.restarts++
	c.found.rewind()
}

// lock takes the writer's lock. It returns false if another pass is to be
// made instead.
func (c *Scan) lock() bool {
	if c.passes < passesOfCell+lockTries {
		return c.t.mu.TryLock()
	}
	c.t.mu.Lock()
	return true
}

// locked searches the cell under the writer's lock if that takes one step,
// and else divides it.
func (c *Scan) locked(most uint64) {
	if !c.large || c.whole {
		bound := most
		if c.whole {
			bound = unbounded
		}
		c.begin()
		if !c.walk(bound) {
			c.fail(fmt.Errorf("%w: a search under the writer's lock met a move", ErrCheck))
			return
		}
		if !c.live {
			return
		}
		c.live = false
		c.found.rewind()
	}
	c.divide(most)
}

// walk continues the pass of the cell. It returns false if the pass met a
// move.
func (c *Scan) walk(most uint64) bool {
	t, s, before := c.t, c.s, c.s.reads
	defer func() { c.visited += s.reads - before }()
	for len(s.stack) > 0 && s.reads < most {
		b := c.found.room(t, c.counting)
		mark := b.n
		left := c.limit - c.found.total
		// A leaf must fit, and no more is read than the limit needs.
		until := len(b.items) - t.fan(0) + 1
		if left < until-mark {
			until = mark + left
		}
		items, ok := t.walk(s, b.items[:mark], &c.cell, c.moves, until, most)
		if !ok {
			return false
		}
		if c.cuts > 0 {
			items = c.own(items, mark)
		}
		c.found.keep(items, mark, left)
		if c.found.total >= c.limit {
			c.end()
			return true
		}
	}
	if len(s.stack) == 0 {
		c.next()
	}
	return true
}

// own removes from items those that do not belong to the cell, from mark on.
func (c *Scan) own(items []Item, mark int) []Item {
	n := mark
	for i := mark; i < len(items); i++ {
		if r := &items[i].Rect; c.cell.holds(max(r.MinX, c.q.MinX), max(r.MinY, c.q.MinY)) {
			items[n] = items[i]
			n++
		}
	}
	return items[:n]
}

// holds reports whether a point lies in r, borders included.
func (r *Rect) holds(x, y float64) bool {
	return r.MinX <= x && x <= r.MaxX && r.MinY <= y && y <= r.MaxY
}

// next ends the cell and continues with the next one.
func (c *Scan) next() {
	last := len(c.todo) - 1
	if last < 0 {
		c.end()
		return
	}
	c.search(c.todo[last])
	c.todo = c.todo[:last]
}

// search makes r the cell.
func (c *Scan) search(r Rect) {
	c.cell, c.live, c.passes, c.large, c.whole = r, false, 0, false, false
	c.found.mark()
}

func (c *Scan) end() {
	c.done, c.live = true, false
	c.found.trim(c.t)
}
