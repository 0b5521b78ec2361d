package whole

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Searches of several groups
//
// In the order of ids, each group gives a page, and the least id of all pages is the next. When
// a page ends, its group is asked for the next one. If the map changes, the pages are asked for
// again, after the last id that was given: so no id is missed, and none comes twice.
//
// In no order, all groups give what they find at once. After an error what was given does not
// count, as of a store.

// search is one search.
type search struct {
	*Groups
	r     request // but Epoch, and the page
	hold  func(int64) error
	yield func(*store.Found) (bool, error)
	pages []page
	by    *View // of pages
}

// page is what a group has answered and was not given yet.
type page struct {
	group int
	found []store.Found
	bytes int64
	after string // of the next page
	over  bool   // there is no next page
}

func (k *Groups) search(ctx context.Context, c *store.Collection, p *store.Prepared, sample *Sample, b *store.Buffer, yield func(*store.Found) (bool, error)) error {
	t, err := textOf(&p.Query, c.Options().Space)
	if err != nil {
		return err
	}
	s := search{Groups: k, r: request{Collection: c.Name(), Query: t, Sample: sample.text()}, hold: p.Hold, yield: yield}
	if p.Order != query.ByID && p.Area != nil {
		return s.stream(ctx, p.Limit)
	}
	defer s.release()
	return s.inPages(ctx, p.Limit, &b.Matched)
}

func (s *search) inPages(ctx context.Context, left int, matched *int) error {
	counts := s.r.Query.Count
	for {
		if err := s.byMap(ctx, func(v *View) error {
			if s.by == nil || s.by.Map.Epoch != v.Map.Epoch {
				s.pages = nil
				for _, g := range v.having() {
					s.pages = append(s.pages, page{group: g, after: s.r.Query.After})
				}
			}
			s.by = v
			n, err := s.fill(ctx, v, left)
			if err == nil && counts && s.r.Query.Count {
				*matched = n
			}
			return err
		}); err != nil {
			return err
		}
		s.r.Query.Count = false // The other pages count nothing.
		for {
			first, ready := s.first()
			if first == nil && ready {
				return nil
			}
			if !ready {
				break
			}
			f := &first.found[0]
			first.found = first.found[1:]
			s.r.Query.After = string(f.ID)
			if more, err := s.yield(f); !more || err != nil {
				return err
			}
			if left--; left == 0 {
				return nil
			}
		}
	}
}

// fill asks the groups whose page has ended for the next one.
func (s *search) fill(ctx context.Context, v *View, left int) (matched int, err error) {
	var groups, at []int
	for i := range s.pages {
		if p := &s.pages[i]; len(p.found) == 0 && !p.over {
			groups, at = append(groups, p.group), append(at, i)
		}
	}
	next := slices.Clone(s.pages)
	counts := make([]int, len(groups))
	err = s.fromAll(ctx, v, groups, func(ctx context.Context, n, g int) error {
		p, r, q := &next[at[n]], s.r, *s.r.Query
		r.Op, r.Epoch, r.Query = opPage, v.Map.Epoch, &q
		q.After, q.Limit = p.after, pageFeatures
		if left > 0 {
			q.Limit = min(q.Limit, left)
		}
		p.bytes = 0
		a, err := s.ask(ctx, v, g, &r, func(f *store.Found, _ int32) (bool, error) {
			p.found = append(p.found, f.Clone())
			p.bytes += int64(len(f.ID) + len(f.Value) + foundBytes)
			return true, nil
		})
		if p.over = !a.More; len(p.found) > 0 {
			p.after = string(p.found[len(p.found)-1].ID)
		}
		counts[n] = a.Matched
		return err
	})
	if err != nil {
		return 0, err
	}
	s.pages = next
	held := int64(0)
	for i := range s.pages {
		held += s.pages[i].bytes
	}
	for _, n := range counts {
		matched += n
	}
	return matched, s.keep(held)
}

func (s *search) keep(bytes int64) error {
	if s.hold == nil {
		return nil
	}
	return s.hold(bytes)
}

func (s *search) release() { _ = s.keep(0) }

// first returns the page that begins with the least id, nil: all pages have ended. ready is
// false if a page has to be asked for.
func (s *search) first() (first *page, ready bool) {
	for i := range s.pages {
		switch p := &s.pages[i]; {
		case len(p.found) == 0 && !p.over:
			return nil, false
		case len(p.found) > 0 && (first == nil || bytes.Compare(p.found[0].ID, first.found[0].ID) < 0):
			first = p
		}
	}
	return first, true
}

func (s *search) stream(ctx context.Context, left int) error {
	var mu sync.Mutex
	given, over := false, false
	give := func(f *store.Found, _ int32) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return false, nil
		}
		given = true
		more, err := s.yield(f)
		left--
		over = !more || err != nil || left == 0
		return !over, err
	}
	var failed error
	err := s.byMap(ctx, func(v *View) error {
		s.r.Op, s.r.Epoch = opStream, v.Map.Epoch
		err := s.fromAll(ctx, v, v.having(), func(ctx context.Context, _, g int) error {
			_, err := s.ask(ctx, v, g, &s.r, give)
			return err
		})
		if given && again(err) {
			failed, err = err, nil
		}
		return err
	})
	if over && failed != nil { // What was wanted has come.
		failed = nil
	}
	return cmp.Or(err, failed)
}

// nearest is Collection.Nearest: each group gives its nearest.
func (k *Groups) nearest(ctx context.Context, name string, q *store.NearestQuery, yield func(*store.Found) (bool, error)) error {
	t, err := textOfNearest(q)
	if err != nil {
		return err
	}
	var found []store.Found
	held := int64(0)
	if q.Hold != nil {
		defer func() { _ = q.Hold(0) }()
	}
	err = k.byMap(ctx, func(v *View) error {
		var mu sync.Mutex
		found, held = nil, 0
		r := request{Op: opNear, Epoch: v.Map.Epoch, Collection: name, Near: t}
		return k.fromAll(ctx, v, v.having(), func(ctx context.Context, _, g int) error {
			_, err := k.ask(ctx, v, g, &r, func(f *store.Found, _ int32) (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				found = append(found, f.Clone())
				held += int64(len(f.ID) + len(f.Value) + foundBytes)
				if q.Hold != nil {
					return true, q.Hold(held)
				}
				return true, nil
			})
			return err
		})
	})
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b store.Found) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), bytes.Compare(a.ID, b.ID))
	})
	if q.K > 0 {
		found = found[:min(q.K, len(found))]
	}
	for i := range found {
		if more, err := yield(&found[i]); !more || err != nil {
			return err
		}
	}
	return nil
}
