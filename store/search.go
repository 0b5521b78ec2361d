package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/record"
	"github.com/catfish-index/catfish/rstar"
)

// Buffer is what searches need besides the collection, for one goroutine at a
// time. The zero value is ready.
type Buffer struct {
	// Budget is how many features a search may look at; 0: any number. If it is
	// not enough the search ends with ErrBudget.
	Budget int

	one   kv.Buffer
	items []rstar.Item
	ends  []int                   // in items, of each box
	seen  map[record.Ref]struct{} // features with several boxes
	found Found

	ctx   context.Context
	pace  func() error // nil: none
	looks int
}

// lookedAt is how many features are looked at before the next pause, 0.1 ms.
const lookedAt = 256

// begin is called before a search.
func (b *Buffer) begin(ctx context.Context, pace func() error) {
	b.ctx, b.pace, b.looks = ctx, pace, 0
}

// end lets go of what the search was given.
func (b *Buffer) end() { b.ctx, b.pace = nil, nil }

// looked counts a feature that was looked at, whether it is wanted or not, and
// is why the search must end.
func (b *Buffer) looked() error {
	if b.looks++; b.looks%lookedAt != 0 || b.ctx == nil {
		return nil
	}
	if err := b.ctx.Err(); err != nil || b.pace == nil {
		return err
	}
	return b.pace()
}

// spend counts a feature that is looked at.
func (b *Buffer) spend() error {
	if b.Budget == 0 {
		return nil
	}
	if b.Budget--; b.Budget == 0 {
		return ErrBudget
	}
	return nil
}

const (
	// soonNodes is how many nodes a search may visit at once, 0.1 ms, and
	// stepNodes how many between two looks at the records that were found.
	soonNodes = 512
	stepNodes = 256
	// ahead is how many records are asked for before the first is read.
	ahead = 16
)

// search calls yield with each feature that a query with an area wants, until it
// returns false, in no order. What it is given is good until it returns.
//
// A feature that is there and matches during all of the search is given exactly
// once, as it was at a moment of the search; none is that was not there at any
// moment of it. In a search of more than 0.1 ms, beside many writes, one that is
// moved meanwhile may be given twice or not at all (rstar.Scan).
func (s *set) search(p *Prepared, b *Buffer, yield func(*Found) (more bool, err error)) error {
	clear(b.seen)
	left := p.Limit
	give := func(f *Found) (bool, error) {
		more, err := yield(f)
		left--
		return more && left != 0, err
	}
	if len(p.boxes) > 1 {
		if done, err := s.sides(p, b, give); done || err != nil {
			return err
		}
	}
	for i, box := range p.boxes {
		var rest *rstar.Scan
		b.items, rest = s.tree.SearchSome(b.items[:0], box, 0, soonNodes)
		if b.Budget > 0 && (rest != nil || len(b.items) >= b.Budget) {
			if rest != nil {
				rest.Close()
			}
			return ErrBudget
		}
		more, err := s.take(p, i, b.items, b, give)
		if rest != nil {
			for done := false; more && err == nil && !done; {
				done = rest.Step(stepNodes)
				for items := rest.Take(); items != nil && more && err == nil; items = rest.Take() {
					more, err = s.take(p, i, items, b, give)
				}
			}
			if err == nil {
				err = rest.Err()
			}
			rest.Close()
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// sides searches an area over 180 degrees, whose boxes lie on both sides, at one
// moment: no feature is met twice, or missed, that goes over meanwhile. It is not
// done if that takes more than 0.1 ms, for which writers wait.
func (s *set) sides(p *Prepared, b *Buffer, yield func(*Found) (bool, error)) (done bool, err error) {
	b.items, b.ends, done = b.items[:0], b.ends[:0], true
	err = s.tree.Frozen(func() {
		for i := 0; i < len(p.boxes) && done; i++ {
			var rest *rstar.Scan
			b.items, rest = s.tree.SearchSome(b.items, p.boxes[i], 0, soonNodes)
			if rest != nil {
				rest.Close()
				done = false
			}
			b.ends = append(b.ends, len(b.items))
		}
	})
	switch {
	case err != nil:
		return false, err
	case b.Budget > 0 && (!done || len(b.items) >= b.Budget):
		return false, ErrBudget
	case !done:
		return false, nil
	}
	begin := 0
	for i, end := range b.ends {
		if more, err := s.take(p, i, b.items[begin:end], b, yield); !more || err != nil {
			return true, err
		}
		begin = end
	}
	return true, nil
}

// take decides about candidates for box i.
func (s *set) take(p *Prepared, i int, items []rstar.Item, b *Buffer, yield func(*Found) (bool, error)) (more bool, err error) {
	f := &b.found
	for j := range min(ahead, len(items)) {
		s.m.Prefetch(record.Ref(items[j].ID))
	}
	for j, it := range items {
		if j+ahead < len(items) {
			s.m.Prefetch(record.Ref(items[j+ahead].ID))
		}
		if err := b.looked(); err != nil {
			return false, err
		}
		if i > 0 && !p.First(i, it.Rect) {
			continue
		}
		if err := b.spend(); err != nil {
			return false, err
		}
		ref := record.Ref(it.ID)
		ok, err := s.read(ref, b, f)
		if err != nil {
			return false, err
		}
		if ok && f.View.Several() {
			if _, again := b.seen[ref]; again {
				continue
			}
			if b.seen == nil {
				b.seen = map[record.Ref]struct{}{}
			}
			b.seen[ref] = struct{}{}
		}
		if ok {
			ok, err = p.Match(f)
		}
		if err != nil {
			return false, fmt.Errorf("%q: %w", f.ID, err)
		}
		if !ok {
			continue
		}
		if more, err := yield(f); !more || err != nil {
			return false, err
		}
	}
	return true, nil
}

// read is the feature of a record that the tree led to a moment ago. It is not ok
// if it has expired.
func (s *set) read(ref record.Ref, b *Buffer, f *Found) (ok bool, err error) {
	v, err := s.m.Read(ref, &b.one)
	switch {
	case err == nil, errors.Is(err, record.ErrDead): // since the tree led to it
	case errors.Is(err, record.ErrStale):
		return false, ErrPaused
	default:
		return false, err
	}
	return s.of(&v, f)
}

// of is the feature of a record.
func (s *set) of(v *record.View, f *Found) (ok bool, err error) {
	f.ID, f.Value, f.Revision, f.Expiry = v.Key, v.Value, v.Revision, duration(v.Expiry)
	f.Now, f.Distance = s.now(), 0
	if f.Expiry != 0 && f.Expiry <= f.Now {
		return false, nil
	}
	f.View, err = feature.Open(v.Value)
	return err == nil, err
}
