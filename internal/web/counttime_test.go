package web

import (
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/store"
)

// A request counts for a limited time and then omits numberMatched. Its page stays the
// same, and a page that needs a look at all features is counted.
func TestCountTime(t *testing.T) {
	const n = 3000
	var clock, step atomic.Int64
	begun := time.Now()
	now := func() time.Time { return begun.Add(time.Duration(clock.Add(step.Load()))) }
	w := newSiteOf(t, store.Options{Now: stoppedClock}, Options{Now: now})
	w.points(n)
	or := url.QueryEscape("S_INTERSECTS(geometry,BBOX(-180,-90,180,90)) AND NOT S_INTERSECTS(geometry,BBOX(100,80,101,81)) AND ")
	for _, c := range []struct {
		query   string
		matched int
		always  bool // The page requires a look at all features.
	}{
		{"even=true", n / 2, false}, {"n=2999", 1, true}, {"n=-1", 0, true}, {"limit=10000&even=true", n / 2, true},
		{"bbox=-180,-90,180,90&even=true", n / 2, false}, {"bbox=-180,-90,180,90&n=2999", 1, true}, {"bbox=-180,-90,180,90", n, false},
		{"filter=" + or + "even=true", n / 2, false}, {"filter=" + or + "n=2999", 1, true}, {"bbox=-180,-90,180,90&filter=" + or + "even=true", n / 2, false},
		{"even=true&after=p200", n / 2, false}, {"bbox=-180,-90,180,90&even=true&after=p200", n / 2, false}, {"filter=" + or + "even=true&after=p200", n / 2, false},
		{"n=5&after=p200", 1, false},
		// Their ids are late in the order, so a walk would not meet them soon.
		{"limit=1&bbox=-180,-90,180,90&filter=n%3E=300+AND+n%3C1000", 700, true}, {"limit=1&filter=" + or + "n%3E=300+AND+n%3C1000", 700, true},
	} {
		for _, late := range []bool{false, true} {
			step.Store(0)
			exact := w.page(empty + "?numberMatched=true&" + c.query)
			if late {
				step.Store(int64(20 * time.Millisecond))
			}
			p, still := w.page(empty+"?"+c.query), w.page(empty+"?numberMatched=true&"+c.query)
			switch {
			case exact.NumberMatched == nil || *exact.NumberMatched != c.matched || still.NumberMatched == nil || *still.NumberMatched != c.matched:
				t.Errorf("%s, late %v: numberMatched=true gives %v, %v, want %d", c.query, late, exact.NumberMatched, still.NumberMatched, c.matched)
			case (p.NumberMatched != nil) != (c.always || !late) || p.NumberMatched != nil && *p.NumberMatched != c.matched:
				t.Errorf("%s, late %v: numberMatched %v", c.query, late, p.NumberMatched)
			}
			if !slices.Equal(p.ids(), exact.ids()) || !slices.Equal(still.ids(), exact.ids()) {
				t.Errorf("%s, late %v: %q, want %q", c.query, late, p.ids(), exact.ids())
			}
			if a, b := href(p.Links, "next", ""), href(exact.Links, "next", ""); (a == "") != (b == "") {
				t.Errorf("%s, late %v: next %q, want as %q", c.query, late, a, b)
			}
		}
	}
	if ids, _ := w.walk(empty + "?limit=100&bbox=-180,-90,180,90&even=true"); len(ids) != n/2 || !slices.IsSorted(ids) {
		t.Errorf("%d features on all pages", len(ids))
	}
}
