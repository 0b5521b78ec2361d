package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/whole"
)

// removeWhere answers to DELETE of /items: it deletes the features that match a
// condition. Without a condition it fails, since that would be a mistake. Where the
// standard lets GET return more than the condition says, this deletes only matches: an
// area has no features without a geometry, and parameter datetime is not accepted.
func (q *request) removeWhere() error {
	c, err := q.find(access.Write)
	if err != nil {
		return err
	}
	query, err := q.removed(c)
	if err != nil {
		return err
	}
	q.turns = limits.Pacer{Of: q.host, Ctx: q.ctx, Source: q.source}
	defer q.turns.End()
	query.Pace, query.Rest = q.turns.Pause, q.turns.End
	query.Hold = func(bytes int64) error { return q.hold(&q.holds.search, bytes) }
	n, err := c.DeleteWhere(q.ctx, query)
	if err != nil && n > 0 {
		err = fmt.Errorf("%w; %d features were deleted before", err, n)
	}
	if err != nil {
		return err
	}
	q.turns.End()
	return q.sendJSON(typeJSON, struct {
		Deleted int `json:"deleted"`
	}{n})
}

// removeParams are the parameters of DELETE of /items, beside properties.
var removeParams = []string{"bbox", "filter", "filter-lang", "filter-crs"}

// removed takes the parameters that select the features to delete.
func (q *request) removed(c whole.Collection) (query store.Query, err error) {
	p := &q.params
	for _, name := range reserved {
		if slices.Contains(removeParams, name) {
			continue
		}
		if value, ok := p.take(name); ok { // not a property, even if there is one of that name
			return query, &paramError{name: name, value: value, err: errUnknown, want: "one of " + strings.Join(removeParams, ", ") + ", or a property of the collection's features"}
		}
	}
	if query.Area, err = p.bbox(); err != nil {
		return query, err
	}
	_, given := p.take("filter")
	given = given || query.Area != nil
	if err := p.filter(q.ctx, c, &query); err != nil {
		return query, err
	}
	where, err := p.properties(q.ctx, c, removeParams...)
	if err != nil {
		return query, err
	}
	if !given && where == "" {
		return query, &statusError{http.StatusBadRequest,
			"without a condition all features would be deleted: want bbox, filter or a property; filter=TRUE is all of them"}
	}
	query.Filter = where
	return query, nil
}
