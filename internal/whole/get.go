package whole

import (
	"context"
	"fmt"

	"github.com/catfish-index/catfish/internal/store"
)

// get is Collection.GetMany.
func (k *Groups) get(ctx context.Context, name string, ids []string, yield func(int, *store.Found) (bool, error)) error {
	found := make([]*store.Found, len(ids))
	err := k.byMap(ctx, func(v *View) error {
		clear(found)
		var groups []int
		at := map[int][]int{} // the numbers of each group's ids
		for i, id := range ids {
			g := int(v.Map.Of([]byte(id)))
			if at[g] == nil {
				groups = append(groups, g)
			}
			at[g] = append(at[g], i)
		}
		return k.fromAll(ctx, v, groups, func(ctx context.Context, _, g int) error {
			r := request{Op: opGet, Collection: name}
			for _, i := range at[g] {
				r.IDs = append(r.IDs, ids[i])
			}
			_, err := k.ask(ctx, v, g, &r, func(f *store.Found, tag int32) (bool, error) {
				if tag < 0 || int(tag) >= len(r.IDs) {
					return false, fmt.Errorf("%w: feature %d of %d", errFormat, tag, len(r.IDs))
				}
				own := f.Clone()
				found[at[g][tag]] = &own
				return true, nil
			})
			return err
		})
	})
	if err != nil {
		return err
	}
	for i, f := range found {
		if more, err := yield(i, f); !more || err != nil {
			return err
		}
	}
	return nil
}

// count is Collection.Count.
func (k *Groups) count(ctx context.Context, c *store.Collection, q *store.Query) (n int, err error) {
	t, err := textOf(q, c.Options().Space)
	if err != nil {
		return 0, err
	}
	t.Limit, t.After, t.Count = 0, "", false
	answers, err := k.ofAll(ctx, request{Op: opCount, Collection: c.Name(), Query: t})
	for i := range answers {
		n += answers[i].N
	}
	return n, err
}

// describe is Collection.Describe, or Schema. Revisions are those of each group, and left out.
func (k *Groups) describe(ctx context.Context, name string, what op) (d store.Description, err error) {
	answers, err := k.ofAll(ctx, request{Op: what, Collection: name})
	if err != nil {
		return d, err
	}
	for i := range answers {
		switch of := answers[i].Description; {
		case of == nil:
			return d, fmt.Errorf("%w: an answer without a description", errFormat)
		case i == 0:
			d = *of
		default:
			d.Join(of)
		}
	}
	d.Revision, d.CreatedRevision = 0, 0
	return d, nil
}
