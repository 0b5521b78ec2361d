package whole

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/rstar"
)

// What one group does of boxes.

// BoxTree is what a group has of a collection of boxes. *rstar.Tree is one, if it is not kept.
type BoxTree interface {
	Insert(r rstar.Rect, id uint64) error
	Delete(r rstar.Rect, id uint64) (bool, error)
	Update(old, new rstar.Rect, id uint64) (bool, error)
	SearchSome(dst []rstar.Item, q rstar.Rect, limit, nodes int) ([]rstar.Item, *rstar.Scan)
	CountSome(q rstar.Rect, nodes int) (int, *rstar.Scan)
	Browse(x, y float64) *rstar.Browse
	Closed() bool
}

const (
	// boxNodes is how many nodes of a tree a step visits (api, stepNodes).
	boxNodes = 512
	// boxesAtOnce are given together.
	boxesAtOnce = 1024
)

var errClosed = fmt.Errorf("dropped during the call: %w", rstar.ErrClosed)

func (p *part) ofBoxes() (a answer, err error) {
	c, err := p.o.Boxes(p.r.Collection)
	if err != nil {
		return a, err
	}
	t := p.r.Box
	if p.r.Op == opWriteBoxes {
		return p.writeBoxes(c)
	}
	if err := p.st.MayReadAll(p.r.Epoch); err != nil {
		return a, err
	}
	switch {
	case p.r.Op == opCountBoxes:
		a.N, err = p.countBoxes(c, t.Rects[0])
	case len(t.Rects) > 0:
		err = p.searchBoxes(c)
	default:
		err = p.nearestBoxes(c)
	}
	if err == nil && c.Closed() {
		err = errClosed
	}
	if err == nil { // A range may have gone meanwhile.
		err = p.st.MayReadAll(p.r.Epoch)
	}
	return a, err
}

func (p *part) writeBoxes(c BoxTree) (a answer, err error) {
	t := p.r.Box
	for i := range t.Items {
		if err := p.o.TakesBox(p.r.Collection, t.Items[i].Rect, true); err != nil {
			return a, err
		}
	}
	if t.Old != nil {
		if err := p.o.TakesBox(p.r.Collection, t.Old.Rect, false); err != nil {
			return a, err
		}
	}
	if len(t.Items) > 0 {
		if err := p.o.Host.CheckMemory(); err != nil {
			return a, err
		}
	}
	found := false
	switch {
	case t.Old == nil:
		return p.insertBoxes(c)
	case len(t.Items) > 0:
		found, err = c.Update(t.Old.Rect, t.Items[0].Rect, t.Old.ID)
	default:
		found, err = c.Delete(t.Old.Rect, t.Old.ID)
	}
	if found {
		a.N = 1
	}
	return a, err
}

// insertBoxes inserts one by one, or together where each insert would wait for the disk.
func (p *part) insertBoxes(c BoxTree) (a answer, err error) {
	if m, ok := c.(interface {
		InsertMany(items []rstar.Item) (int, error)
	}); ok {
		a.N, err = m.InsertMany(p.r.Box.Items)
		return a, err
	}
	for _, it := range p.r.Box.Items {
		if err := c.Insert(it.Rect, it.ID); err != nil {
			return a, err
		}
		a.N++
	}
	return a, nil
}

// finish runs the steps of a long search.
func (p *part) finish(rest *rstar.Scan, other int64) error {
	for done := false; !done; {
		if err := p.o.Host.RunStep(p.ctx, p.turn.Source, func() { done = rest.Step(boxNodes) }); err != nil {
			return err
		}
		if err := p.hold(other + int64(rest.Held())); err != nil {
			return err
		}
	}
	return rest.Err()
}

func (p *part) countBoxes(c BoxTree, q rstar.Rect) (n int, err error) {
	n, rest := c.CountSome(q, boxNodes)
	if rest == nil {
		return n, nil
	}
	defer rest.Close()
	err = p.finish(rest, 0)
	return rest.Count(), err
}

// searchBoxes finds all before it gives any: a search must not wait for the network.
func (p *part) searchBoxes(c BoxTree) error {
	var found []FoundBox
	var items []rstar.Item
	for i, q := range p.r.Box.Rects {
		left := p.r.Box.Limit - len(found)
		if left <= 0 {
			break
		}
		if err := p.turn.Tick(); err != nil {
			return err
		}
		var rest *rstar.Scan
		items, rest = c.SearchSome(items[:0], q, left, boxNodes)
		if rest != nil {
			p.turn.End()
			err := p.finish(rest, int64(cap(found))*foundBoxBytes)
			if err == nil {
				items = rest.AppendItems(items[:0])
			}
			rest.Close()
			if err != nil {
				return err
			}
		}
		for _, it := range items[:min(len(items), left)] {
			found = append(found, FoundBox{Item: it, Query: uint32(i)})
		}
		if err := p.hold(int64(cap(found)) * foundBoxBytes); err != nil {
			return err
		}
	}
	return p.giveBoxes(found)
}

func (p *part) nearestBoxes(c BoxTree) error {
	t := p.r.Box
	b := c.Browse(t.X, t.Y)
	defer b.Close()
	var near []rstar.Neighbor
	for done := false; !done && len(near) < t.Limit; {
		had := len(near)
		step := func() { near, done = b.Next(near, min(boxesAtOnce, t.Limit-had), boxNodes) }
		if err := p.o.Host.RunStep(p.ctx, p.turn.Source, step); err != nil {
			return err
		}
		for n := len(near); n > had && near[n-1].Dist > t.Within; n-- {
			near, done = near[:n-1], true
		}
		if err := p.hold(int64(cap(near))*foundBoxBytes + int64(b.Held())); err != nil {
			return err
		}
	}
	if err := b.Err(); err != nil {
		return err
	}
	found := make([]FoundBox, len(near))
	for i, n := range near {
		found[i] = FoundBox{Item: n.Item, Distance: n.Dist}
	}
	return p.giveBoxes(found)
}

func (p *part) giveBoxes(found []FoundBox) error {
	p.turn.End()
	for len(found) > 0 {
		n := min(len(found), boxesAtOnce)
		if err := p.r.boxes(found[:n]); err != nil {
			return err
		}
		found = found[n:]
	}
	return nil
}

// boxBytes is a FoundBox as bytes: its rectangle, id, search, and distance.
const boxBytes = 4*8 + 8 + 4 + 8

func appendBoxes(b []byte, found []FoundBox) []byte {
	for i := range found {
		f := &found[i]
		for _, v := range []float64{f.Rect.MinX, f.Rect.MinY, f.Rect.MaxX, f.Rect.MaxY} {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(b, f.ID), f.Query)
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f.Distance))
	}
	return b
}

func getBoxes(b []byte) (found []FoundBox, err error) {
	if len(b)%boxBytes != 0 {
		return nil, fmt.Errorf("%w: boxes of %d bytes", errFormat, len(b))
	}
	for ; len(b) > 0; b = b[boxBytes:] {
		at := func(i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b[i:])) }
		f := FoundBox{Query: binary.LittleEndian.Uint32(b[40:]), Distance: at(44)}
		f.Rect, f.ID = rstar.Rect{MinX: at(0), MinY: at(8), MaxX: at(16), MaxY: at(24)}, binary.LittleEndian.Uint64(b[32:])
		if err := f.Rect.Validate(); err != nil {
			return nil, fmt.Errorf("%w: %w", errFormat, err)
		}
		found = append(found, f)
	}
	return found, nil
}

// checkBoxes refuses requests about boxes that lack what they need.
func (r *request) checkBoxes() (lacks string) {
	switch t := r.Box; {
	case t == nil:
		return "boxes"
	case r.Op == opCountBoxes && len(t.Rects) != 1:
		return "an area"
	case r.Op == opFindBoxes && t.Limit <= 0:
		return "a limit"
	case r.Op == opWriteBoxes && t.Old == nil && len(t.Items) == 0, t.Old != nil && len(t.Items) > 1:
		return "a box"
	}
	return ""
}

// noBoxes is Options.Boxes of a member without.
func noBoxes(name string) (BoxTree, error) {
	return nil, fmt.Errorf("%w: %q", fault.ErrUnknownCollection, name)
}
