package web

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/whole"
)

// countingHost grants scheduling slots, and counts those granted and those held.
type countingHost struct {
	limits.Alone
	begun, active atomic.Int64
}

func (h *countingHost) RunStep(ctx context.Context, source string, step func()) error {
	return h.Alone.RunStep(ctx, source, func() {
		h.begun.Add(1)
		h.active.Add(1)
		defer h.active.Add(-1)
		step()
	})
}

// long are long requests, and the least number of slots that they take.
var long = map[string]int64{
	"/collections/empty/items?limit=1500":                                                          3,
	"/collections/empty/items?limit=10&bbox=-180,-90,180,90":                                       3,
	"/collections/empty/items?limit=10&filter=n%20>%203%20OR%20S_DWITHIN(geometry,POINT(1%202),9)": 3,
	"/collections/empty/items?f=html&limit=1500":                                                   3,
	"/collections/empty/nearest?limit=1000&point=0,0":                                              1,
	"/collections/empty/tiles/0/0/0.mvt":                                                           1,
	"/collections/empty/counts?bbox=-180,-90,180,90&zoom=6":                                        1,
	"/collections": 1,
}

// Long requests take scheduling slots, short ones none, and all slots are released.
func TestLongRequestsTakeSlots(t *testing.T) {
	w := newSiteOf(t, store.Options{Now: stoppedClock}, Options{})
	w.points(1500)
	all := maps.Clone(long)
	all["/collections/empty/items/p000"] = 0
	all["/collections/empty/items?limit=10&numberMatched=false"] = 0
	for target, least := range all {
		h := &countingHost{Alone: limits.Alone{Slots: limits.NewSlots(1)}}
		w.host = h
		if a := w.do(http.MethodGet, target, ""); a.StatusCode != http.StatusOK {
			t.Errorf("%s: %d: %s", target, a.StatusCode, a.body)
		}
		if n := h.begun.Load(); n < least || least == 0 && n > 0 {
			t.Errorf("%s: %d turns, want at least %d", target, n, least)
		}
		// A finished request has released its slot.
		if err := h.RunStep(t.Context(), "next", func() {}); err != nil || h.active.Load() != 0 {
			t.Errorf("%s: %d turns are kept, %v", target, h.active.Load(), err)
		}
	}
}

// A request with a slot waits for no request that needs one: with one slot for all,
// requests of all kinds end. Otherwise they would have to be refused after a minute.
func TestManyRequestsEndWithOneSlot(t *testing.T) {
	w := newSiteOf(t, store.Options{Now: stoppedClock}, Options{})
	w.points(1500)
	w.host = limits.Alone{Slots: limits.NewSlots(1)}
	var all sync.WaitGroup
	for range 4 {
		for target := range long {
			all.Go(func() {
				if a := w.do(http.MethodGet, target, ""); a.StatusCode != http.StatusOK {
					t.Errorf("%s: %d: %s", target, a.StatusCode, a.body)
				}
			})
		}
	}
	all.Wait()
}

// A page takes slots as its search does: by time, since the time to process its
// features is unknown.
func TestCountedPageTakesSlots(t *testing.T) {
	now := stoppedClock()
	w := newSiteOf(t, store.Options{Now: func() time.Duration { return now }}, Options{})
	w.points(100)
	c, err := w.st.Collection("empty")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		h := &countingHost{Alone: limits.Alone{Slots: limits.NewSlots(1)}}
		s, err := New(h, Options{})
		if err != nil {
			t.Fatal(err)
		}
		q := &request{Server: s, ctx: t.Context(), account: s.answers.Open("x", func(error) {})}
		defer q.account.Close()
		i := itemsQuery{query: store.Query{Area: query.Box(-180, -90, 180, 90)}, limit: 50, count: true}
		f, err := q.search(whole.OfOne(c), i, func(*store.Found) (bool, error) {
			now += time.Millisecond
			return true, nil
		})
		if n := h.begun.Load(); err != nil || f.returned != 50 || f.matched != 100 || n < 10 {
			t.Errorf("%+v in %d turns, want at least 10, %v", f, n, err)
		}
	})
}

// TestCostlyRequestsEnd: a long request has a minute, including its wait for a
// scheduling slot, and is then refused.
func TestCostlyRequestsEnd(t *testing.T) {
	w := newSiteOf(t, store.Options{Now: stoppedClock}, Options{})
	w.points(1500)
	for _, target := range []string{
		"/items?limit=10&filter=n%3C0", "/items?limit=10&numberMatched=false&filter=n%3C0", "/items?limit=10&bbox=-180,-90,180,90",
		"/items?f=html&filter=n%3C0", "/nearest?point=0,0&limit=10&filter=n%3C0", "/counts?zoom=3&filter=n%3C0", "/tiles/0/0/0.mvt?filter=n%3C0",
	} {
		synctest.Test(t, func(t *testing.T) {
			h := &countingHost{Alone: limits.Alone{Slots: limits.NewSlots(1)}}
			other, _ := h.Join("other", nil)
			s, err := New(h, Options{})
			if err != nil {
				t.Fatal(err)
			}
			s.ServeFeatures(w.st)
			begun, a := time.Now(), httptest.NewRecorder()
			s.ServeHTTP(a, httptest.NewRequest(http.MethodGet, "/collections/empty"+target, http.NoBody))
			if took := time.Since(begun); a.Code != http.StatusServiceUnavailable || took != DefaultRequestTimeout || !strings.Contains(a.Body.String(), "more than 1m0s") {
				t.Errorf("%s: %d after %v: %s", target, a.Code, took, a.Body)
			}
			other.Leave()
			synctest.Wait()
			if u := s.answers.Use(); u.Used != 0 || h.active.Load() != 0 {
				t.Errorf("%s: %d bytes and %d turns are kept", target, u.Used, h.active.Load())
			}
		})
	}
}
