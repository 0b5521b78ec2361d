package web

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/whole"
)

// Preconditions
//
// A write reads the present feature, judges the headers by its revision, and then
// writes on condition that this revision is still current, or that the feature is still
// absent. If another write came between, it begins again:
//
//	read -> If-Match, If-None-Match -> write if still so -> done
//	 ^------------------ another was sooner ---------|
//
// Each repetition means that another write succeeded, so the writes together make
// progress. A write without these headers fails with 503 after writeTries attempts.

// writeTries is more than writes of one feature collide by chance: with ten clients
// that do nothing else, each sometimes loses nine times in a row.
const writeTries = 100

// under calls write with the present feature (nil: none) and the condition to write
// under. It returns the revision that was written over, 0 for none. absent says that
// write may create the feature.
func (q *request) under(c whole.Collection, id string, absent bool,
	write func(is *store.Found, cond kv.Condition) error,
) (was uint64, err error) {
	for range writeTries {
		var is *store.Found
		var cond kv.Condition
		if err := c.GetMany(q.ctx, []string{id}, func(_ int, g *store.Found) (bool, error) {
			if g == nil {
				return false, nil
			}
			clone := g.Clone()
			is = &clone
			return false, q.hold(&q.holds.search, int64(len(clone.Value)))
		}); err != nil {
			return 0, err
		}
		if is == nil {
			was, cond.IfAbsent = 0, true
		} else {
			was, cond.IfRevision = is.Revision, is.Revision
		}
		if err := judge(q.r.Header, c, id, was); err != nil {
			return 0, err
		}
		if is == nil && !absent {
			return 0, noFeature(c, id)
		}
		err = write(is, cond)
		if !errors.Is(err, kv.ErrConflict) && !errors.Is(err, kv.ErrExists) {
			return was, err
		}
	}
	return 0, &statusError{http.StatusServiceUnavailable, fmt.Sprintf("feature %.200q was written by others %d times meanwhile", id, writeTries)}
}

// judge returns 412 unless the headers allow overwriting revision was; 0: no feature.
func judge(h http.Header, c whole.Collection, id string, was uint64) error {
	same := func(all []string) bool {
		return was != 0 && slices.ContainsFunc(all, func(t string) bool {
			t, _ = withoutCoding(t)
			return t == etag(c, id, was, false) || t == etag(c, id, was, true)
		})
	}
	is := "there is no such feature"
	if was != 0 {
		is = "the feature is " + etag(c, id, was, false)
	}
	if all, any := tags(h, "If-Match"); (any || len(all) > 0) && !same(all) && !(any && was != 0) {
		return &statusError{http.StatusPreconditionFailed, fmt.Sprintf("header If-Match is %.200q, and %s", h.Get("If-Match"), is)}
	}
	if all, any := tags(h, "If-None-Match"); any && was != 0 || same(all) {
		return &statusError{http.StatusPreconditionFailed, fmt.Sprintf("header If-None-Match is %.200q, and %s", h.Get("If-None-Match"), is)}
	}
	return nil
}
