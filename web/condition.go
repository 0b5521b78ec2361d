package web

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/store"
)

// Preconditions
//
// A write reads what there is, judges the headers by it, and then writes under the
// condition that it still is so: that revision, or none. If another write came
// between, it begins again:
//
//	read -> If-Match, If-None-Match -> write if still so -> done
//	 ^------------------ another was sooner ---------|
//
// Each time another write was made, so all together they go on. A write without
// these headers that was beaten as often as writeTries tells gives up, by 503.

// writeTries is more often than writes of one feature meet by chance: with ten
// clients that do nothing else, each is beaten nine times in a row now and then.
const writeTries = 100

// under has write called with the feature as it is, nil: there is none, and the
// condition to write under. It returns the revision that was written over, 0: none.
// absent: the feature may be written where there is none.
func (q *request) under(c api.FeatureCollection, id string, absent bool,
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
		if err := judge(q.r.Header, was); err != nil {
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

// judge is 412 unless the headers allow to write over a revision, 0: over none.
func judge(h http.Header, was uint64) error {
	same := func(all []string) bool {
		return was != 0 && slices.ContainsFunc(all, func(t string) bool {
			t, _ = withoutCoding(t)
			return t == etag(was, false) || t == etag(was, true)
		})
	}
	is := "there is no such feature"
	if was != 0 {
		is = "the feature is " + etag(was, false)
	}
	if all, any := tags(h, "If-Match"); (any || len(all) > 0) && !same(all) && !(any && was != 0) {
		return &statusError{http.StatusPreconditionFailed, fmt.Sprintf("header If-Match is %.200q, and %s", h.Get("If-Match"), is)}
	}
	if all, any := tags(h, "If-None-Match"); any && was != 0 || same(all) {
		return &statusError{http.StatusPreconditionFailed, fmt.Sprintf("header If-None-Match is %.200q, and %s", h.Get("If-None-Match"), is)}
	}
	return nil
}
