package client

import (
	"github.com/catfish-index/catfish/internal/rstar/remote"
	"github.com/catfish-index/catfish/internal/wire"
)

// Estimate fills an estimate: what the query would read by offloading, as far
// as cached nodes show. They may be old. Without a cache there are none, and
// they do not help to estimate a search for the nearest.
func (q *boxQuery) Estimate(to *Estimate) bool {
	if q.open.Cache == nil || q.kind == wire.KindNearest {
		return false
	}
	var e remote.Estimate
	searches := 1
	if q.kind != wire.KindSearchMany {
		q.estimator.Add(&e, &q.open.slab, &q.rect)
	} else {
		searches = len(q.rects)
		for i := range q.rects {
			q.estimator.Add(&e, &q.open.slab, &q.rects[i])
		}
	}
	*to = Estimate{
		Searches: searches, Leaves: e.Leaves, Heads: e.Heads,
		Missing: e.Missing, Cached: e.Cached, Bytes: e.Bytes,
	}
	return true
}
