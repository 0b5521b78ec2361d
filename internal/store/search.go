package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/rstar"
)

// Buffer has the memory of searches besides the collection, for one goroutine at a
// time. The zero value is ready.
type Buffer struct {
	// Budget is how many features a search may look at; 0: any number. If it is
	// not enough, or the search takes 0.4 ms, it ends with ErrBudget.
	Budget int

	// Matched is how many features a search with Query.Count has found, its limit and
	// cursor aside.
	Matched int

	begun time.Duration // by the store's clock

	one   kv.Buffer
	items []rstar.Item
	boxes []rstar.Rect
	seen  map[record.Ref]struct{} // features with several boxes
	found Found
	cut   []byte // the selected parts of a feature

	first     firsts
	near      NearestSoFar
	neighbors []rstar.Neighbor

	pacing
	kept  kept
	steps feature.Steps // of filters, and tests of large geometries
}

// begin is called before a search of s.
func (b *Buffer) begin(ctx context.Context, s *set, pace func() error, hold func(int64) error) {
	b.pacing, b.kept = newPacing(ctx, pace, s.now), kept{hold: hold}
	if b.steps.Pause == nil {
		b.steps.Pause = b.within // once, since a method value allocates
	}
	if b.Budget > 0 {
		b.endSoon()
	}
}

// end drops the references that the search was given.
func (b *Buffer) end() {
	b.kept.end()
	b.pacing, b.kept = pacing{}, kept{}
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
	// stepsAtOnce is after how many of them a search pauses: 1 ms, the length of its
	// scheduling slot (package limits).
	stepsAtOnce = 16
	// ahead is how many records are prefetched before the first is read.
	ahead = 16
)

// search calls yield with each feature that a query with an area wants, until it
// returns false, in no order. A feature is valid until yield returns.
//
// A feature that exists and matches during all of the search is given exactly once, as
// it was at a moment of the search; none is given that did not exist at any moment of
// it. A search of more than 0.1 ms is divided where many writes do not let it pass;
// then one that is moved meanwhile may be given twice or not at all (rstar.Scan).
func (s *set) search(p *Prepared, b *Buffer, yield func(*Found) (more bool, err error)) error {
	search, err := s.begin(p, b)
	defer search.end(b)
	if err != nil {
		return err
	}
	return s.carryOut(search, p, p.Limit, b, yield)
}

// areaSearch is a search that has begun.
type areaSearch struct {
	boxes []rstar.Rect
	rest  *rstar.Scan // nil: all entries of the area are in Buffer.items
	items int         // the number of entries
	held  int64
}

// begin begins to search the tree for an area: most searches then have all entries. Its
// end is to be called in any case.
func (s *set) begin(p *Prepared, b *Buffer) (search areaSearch, err error) {
	clear(b.seen)
	search.boxes = s.areaBoxes(p, b)
	b.items, search.rest = s.tree.SearchAny(b.items[:0], search.boxes, 0, soonNodes)
	search.items = len(b.items)
	search.held = int64(search.items) * itemBytes
	if err := b.keep(search.held); err != nil {
		return search, err
	}
	if b.Budget > 0 && (search.rest != nil || search.items >= b.Budget) {
		return search, ErrBudget
	}
	return search, nil
}

func (search *areaSearch) end(b *Buffer) {
	if search.rest != nil {
		search.rest.Close()
	}
	b.drop(search.held)
}

// carryOut looks at the found entries, and continues, until left are given; 0: all.
func (s *set) carryOut(search areaSearch, p *Prepared, left int, b *Buffer, yield func(*Found) (more bool, err error)) error {
	give := func(f *Found) (bool, error) {
		more, err := yield(f)
		left--
		return more && left != 0, err
	}
	more, err := s.take(p, b.items, b, give)
	if search.rest == nil || !more || err != nil {
		return err
	}
	return s.rest(search.rest, b, func(items []rstar.Item) (bool, error) { return s.take(p, items, b, give) })
}

// rest continues a search of the tree, and calls take with the entries that it finds,
// until take returns false.
func (s *set) rest(rest *rstar.Scan, b *Buffer, take func([]rstar.Item) (more bool, err error)) error {
	held := int64(0)
	defer func() { b.drop(held) }()
	for done := false; !done; {
		done = rest.Step(stepNodes)
		now := int64(rest.Held())
		err := b.keep(now - held)
		if held = now; err == nil {
			err = b.stepped()
		}
		if err != nil {
			return err
		}
		for items := rest.Take(); items != nil; items = rest.Take() {
			if more, err := take(items); !more || err != nil {
				return err
			}
		}
	}
	return rest.Err()
}

// take decides about candidates.
func (s *set) take(p *Prepared, items []rstar.Item, b *Buffer, yield func(*Found) (bool, error)) (more bool, err error) {
	// Until the end of this part: the collection is in use meanwhile anyway.
	if err := s.m.Enter(&b.one); err != nil {
		return false, err
	}
	defer s.m.Leave(&b.one)
	if p.Sample != nil {
		items = slices.DeleteFunc(items, func(it rstar.Item) bool { return !p.Sample(it.Rect) })
	}
	for j := range min(ahead, len(items)) {
		s.m.Prefetch(record.Ref(items[j].ID))
	}
	for j, it := range items {
		if j+ahead < len(items) {
			s.m.Prefetch(record.Ref(items[j+ahead].ID))
		}
		ok, err := s.decide(p, it, b)
		if err != nil {
			return false, err
		}
		if !ok {
			continue
		}
		if more, err := yield(&b.found); !more || err != nil {
			return false, err
		}
	}
	return true, nil
}

// decide reports whether the feature that an entry of the tree leads to is wanted,
// and was not met before. It is then in b.found.
func (s *set) decide(p *Prepared, it rstar.Item, b *Buffer) (ok bool, err error) {
	if err := b.looked(); err != nil {
		return false, err
	}
	if err := b.spend(); err != nil {
		return false, err
	}
	ref, f := record.Ref(it.ID), &b.found
	if ok, err = s.read(ref, b, f); !ok || err != nil {
		return false, err
	}
	if f.View.Several() {
		if _, again := b.seen[ref]; again {
			return false, nil
		}
		if b.seen == nil {
			b.seen = map[record.Ref]struct{}{}
		}
		b.seen[ref] = struct{}{}
	}
	return b.match(p, f)
}

// match decides about a feature, in steps. The error names it, except for those that
// end the search.
func (b *Buffer) match(p *Prepared, f *Found) (bool, error) {
	ok, err := p.MatchIn(f, &b.steps)
	return ok, b.named(f, err)
}

// named adds the feature to an error about it, but not to one that ends the search.
func (b *Buffer) named(f *Found, err error) error {
	if err == nil || errors.Is(err, b.steps.Err()) {
		return err
	}
	return fmt.Errorf("%q: %w", f.ID, err)
}

// read reads the feature of a record that the tree led to a moment ago. It is not ok
// if it has expired, or readers do not see it.
func (s *set) read(ref record.Ref, b *Buffer, f *Found) (ok bool, err error) {
	v, err := s.m.ReadSince(ref, b.begun, &b.one)
	switch {
	case err == nil, errors.Is(err, record.ErrDead): // since the tree led to it
	case errors.Is(err, record.ErrStale):
		return false, ErrPaused
	default:
		return false, err
	}
	if s.owned.Load().hidesID(v.Key) {
		return false, nil
	}
	return f.SetRecord(&v, b.clock())
}
