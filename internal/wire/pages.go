package wire

import (
	"context"
	"errors"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/store/query"
)

// A search is answered by requests of a bounded size. The caller gets the results of
// a request after the request has ended, so a slow caller blocks neither a search nor
// the reuse of memory.

// PageFeatures is how many features an unlimited search over a connection requests
// at a time.
const PageFeatures = 1000

// finder answers one request. more says that there may be others, after the last
// one of an answer in the order of ids. ErrTooLarge: an answer without order takes
// too many bytes.
type finder func(ctx context.Context, q query.Query) (found []query.Found, more bool, err error)

// InPages yields the features that match a query: at once if they are few, or else
// in the order of ids, most at a time.
func InPages(ctx context.Context, q query.Query, most int, find finder, yield func(*query.Found) (bool, error)) error {
	few := q.Limit > 0 && q.Limit <= most || q.Limit == 0 && q.Area != nil
	if q.Order == query.AnyOrder && few {
		found, _, err := find(ctx, q)
		if err == nil {
			_, err := GiveAll(found, yield)
			return err
		}
		if !errors.Is(err, model.ErrTooLarge) {
			return err
		}
	}
	q.Order = query.ByID
	for left := q.Limit; ; {
		page := q
		if page.Limit = most; left > 0 {
			page.Limit = min(page.Limit, left)
		}
		found, more, err := find(ctx, page)
		if err != nil {
			return err
		}
		if on, err := GiveAll(found, yield); !on || err != nil {
			return err
		}
		if left -= len(found); left == 0 && q.Limit > 0 || len(found) < page.Limit && !more || len(found) == 0 {
			return nil
		}
		q.After = string(found[len(found)-1].ID)
	}
}

// GiveAll yields what was found until yield wants no more.
func GiveAll(found []query.Found, yield func(*query.Found) (bool, error)) (more bool, err error) {
	for i := range found {
		if more, err := yield(&found[i]); !more || err != nil {
			return false, err
		}
	}
	return true, nil
}
