package client

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
)

// Searches of several groups
//
// A small answer comes from all groups at the same time, and counts if all have given it by
// one map. A large one comes in pages in the order of ids: each group has a page in memory, of
// at most wire.FeatureBytes, and the least id of all pages is the next. When a page ends,
// its group is asked for the next one. If the map changes, the pages are asked for again, after
// the last id that was given: so no id is missed, and none comes twice.

func (r *clusterFeatures) Search(ctx context.Context, q query.Query, yield func(*query.Found) (bool, error)) error {
	few := q.Limit > 0 && q.Limit <= wire.PageFeatures || q.Limit == 0 && q.Area != nil
	if q.Order != query.AnyOrder || !few {
		return r.inPages(ctx, q, yield)
	}
	answers, err := fromAll(ctx, r.k, func(ctx context.Context, c *connection) ([]query.Found, error) {
		found, _, err := r.at(c).find(ctx, q, nil)
		return found, err
	})
	if errors.Is(err, model.ErrTooLarge) {
		return r.inPages(ctx, q, yield)
	}
	if err != nil {
		return err
	}
	found := slices.Concat(answers...)
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	_, err = wire.GiveAll(found, yield)
	return err
}

// groupPage is what a group has answered and was not given yet.
type groupPage struct {
	found []query.Found
	after string // of the next page
	over  bool   // there is no next page
}

func (r *clusterFeatures) inPages(ctx context.Context, q query.Query, yield func(*query.Found) (bool, error)) error {
	q.Order = query.ByID
	var by *view // of pages
	var pages []groupPage
	for left := q.Limit; ; {
		err := r.k.byMap(ctx, func(v *view) error {
			if by == nil || by.epoch != v.epoch {
				by, pages = v, make([]groupPage, len(v.having()))
				for i := range pages {
					pages[i].after = q.After
				}
			}
			return r.fill(ctx, by, pages, q, left)
		})
		if err != nil {
			return err
		}
		for {
			first, ready := firstPage(pages)
			if first < 0 && ready {
				return nil
			}
			if !ready {
				break
			}
			p := &pages[first]
			f := &p.found[0]
			p.found = p.found[1:]
			q.After = string(f.ID)
			if more, err := yield(f); !more || err != nil {
				return err
			}
			if left--; left == 0 {
				return nil
			}
		}
	}
}

// fill asks the groups whose page has ended for the next one.
func (r *clusterFeatures) fill(ctx context.Context, v *view, pages []groupPage, q query.Query, left int) error {
	having := v.having()
	var groups, at []int
	for i := range pages {
		if len(pages[i].found) == 0 && !pages[i].over {
			groups, at = append(groups, having[i]), append(at, i)
		}
	}
	next := slices.Clone(pages)
	err := r.k.askAll(ctx, v, groups, true, func(ctx context.Context, n int, c *connection) error {
		p, page := &next[at[n]], q
		page.After, page.Limit = p.after, wire.PageFeatures
		if left > 0 {
			page.Limit = min(page.Limit, left)
		}
		found, more, err := r.at(c).find(ctx, page, nil)
		if err != nil {
			return err
		}
		p.found, p.over = found, len(found) == 0 || len(found) < page.Limit && !more
		if len(found) > 0 {
			p.after = string(found[len(found)-1].ID)
		}
		return nil
	})
	if err == nil {
		copy(pages, next)
	}
	return err
}

// firstPage returns the page that begins with the least id, -1: all pages have ended. ready is
// false if a page has to be asked for.
func firstPage(pages []groupPage) (first int, ready bool) {
	first = -1
	for i := range pages {
		switch p := &pages[i]; {
		case len(p.found) == 0 && !p.over:
			return -1, false
		case len(p.found) > 0 && (first < 0 || slices.Compare(p.found[0].ID, pages[first].found[0].ID) < 0):
			first = i
		}
	}
	return first, true
}

// Nearest asks each group for its nearest, and gives the nearest of all.
func (r *clusterFeatures) Nearest(ctx context.Context, q query.NearestQuery, yield func(*query.Found) (bool, error)) error {
	answers, err := fromAll(ctx, r.k, func(ctx context.Context, c *connection) (l []query.Found, err error) {
		err = r.at(c).Nearest(ctx, q, func(f *query.Found) (bool, error) {
			l = append(l, f.Clone()) // It is in memory of the search.
			return true, nil
		})
		return l, err
	})
	if err != nil {
		return err
	}
	found := slices.Concat(answers...)
	slices.SortFunc(found, func(a, b query.Found) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), slices.Compare(a.ID, b.ID))
	})
	if q.K > 0 && len(found) > q.K {
		found = found[:q.K]
	}
	_, err = wire.GiveAll(found, yield)
	return err
}

// Explain explains what each group has done.
func (r *clusterFeatures) Explain(ctx context.Context, q query.Query) ([]query.Found, *model.Explanation, error) {
	x, done := r.k.c.explain(r.k.c.engines[ofFeatures].Policy())
	type answer struct {
		group string
		found []query.Found
		x     *model.Explanation
	}
	answers, err := fromAll(ctx, r.k, func(ctx context.Context, c *connection) (answer, error) {
		found, x, err := r.at(c).Explain(ctx, q)
		return answer{c.part.group, found, x}, err
	})
	if err != nil {
		return nil, &x.Explanation, err
	}
	var found []query.Found
	x.Why = "all groups are asked, each by its own policy"
	for i := range answers {
		a := &answers[i]
		a.x.Results = len(a.found)
		x.ofGroup(a.group, a.x)
		found = append(found, a.found...)
	}
	if q.Order == query.ByID {
		slices.SortFunc(found, func(a, b query.Found) int { return slices.Compare(a.ID, b.ID) })
	}
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	done()
	return found, &x.Explanation, nil
}
