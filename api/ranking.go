package api

import (
	"cmp"
	"context"
	"slices"

	"github.com/paulmach/orb"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/whole"
)

// ranking orders the features that a search finds by distance, then by id.
type ranking struct {
	*features
	answer *featureAnswer
	limit  int     // 0: all
	after  *cursor // the answer begins after it; no id: at the first
	more   bool    // there are more features than limit
	last   ranked  // of the answer

	origin feature.Origin
	best   []ranked
	bytes  int64 // of best
}

// ranked is a feature in its wire form.
type ranked struct {
	distance float64
	id       string
	b        []byte
}

func (a *ranked) compare(b *ranked) int {
	return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.id, b.id))
}

// rankedBytes is what a ranked takes in addition to its bytes.
const rankedBytes = 64

// from sets the point in a field of a request.
func (k *ranking) from(c whole.Collection, field string, p *catfishv1.Point) (err error) {
	if p == nil {
		return &fieldError{field, ReasonBadField, errMissing}
	}
	if k.origin, err = feature.NewOrigin(c.Options().Space, orb.Point{p.GetX(), p.GetY()}); err != nil {
		return &fieldError{field, reasonOfFeature(err), err}
	}
	return nil
}

// search looks at every feature that q finds, and has the answer at the end.
func (k *ranking) search(ctx context.Context, c whole.Collection, q *store.Prepared) error {
	err := search(ctx, c, q, func(f *store.Found) (bool, error) {
		f.Distance = k.origin.Distance(&f.View)
		r := ranked{distance: f.Distance, id: string(f.ID)}
		if k.after.id != "" && r.compare(&ranked{distance: k.after.distance, id: k.after.id}) <= 0 {
			return true, nil
		}
		// Keep the features that may be among the first limit + 1, where the last
		// one shows whether there are more. Sort them when there are twice as many.
		if k.limit > 0 && len(k.best) > 2*k.limit {
			k.cut()
		}
		var err error
		if r.b, err = k.answer.appendFeature(nil, f); err != nil {
			return false, err
		}
		k.best = append(k.best, r)
		if k.limit == 0 && len(k.best) > k.options.maxResults {
			return false, tooManyFeatures(k.options.maxResults)
		}
		if k.bytes += int64(cap(r.b)) + rankedBytes; k.bytes <= callBytes {
			return true, nil
		}
		return true, hold(ctx, k.bytes)
	})
	if err != nil {
		return err
	}
	k.cut()
	if k.limit > 0 && len(k.best) > k.limit {
		k.best, k.more = k.best[:k.limit], true
	}
	for i := range k.best {
		k.last = k.best[i]
		if err := k.answer.addWire(ctx, k.best[i].b); err != nil {
			return err
		}
		k.best[i].b = nil
	}
	return nil
}

// cut sorts, and drops the features beyond the limit. A feature that moved during
// the search may have been found twice. It counts once, where it is nearer.
func (k *ranking) cut() {
	slices.SortFunc(k.best, func(a, b ranked) int { return a.compare(&b) })
	seen := make(map[string]struct{}, len(k.best))
	k.best = slices.DeleteFunc(k.best, func(r ranked) bool {
		_, again := seen[r.id]
		seen[r.id] = struct{}{}
		return again
	})
	if k.limit > 0 && len(k.best) > k.limit+1 {
		clear(k.best[k.limit+1:])
		k.best = k.best[:k.limit+1]
	}
	k.bytes = 0
	for i := range k.best {
		k.bytes += int64(cap(k.best[i].b)) + rankedBytes
	}
}
