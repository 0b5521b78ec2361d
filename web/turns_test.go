package web

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/catfish-index/catfish/internal/turns"
)

// countingHost gives turns, and counts those that were begun and are not over.
type countingHost struct {
	alone
	begun, active atomic.Int64
}

func (h *countingHost) RunStep(ctx context.Context, source string, step func()) error {
	return h.alone.RunStep(ctx, source, func() {
		h.begun.Add(1)
		h.active.Add(1)
		defer h.active.Add(-1)
		step()
	})
}

// What takes long takes turns, what is short none, and none is kept.
func TestTurns(t *testing.T) {
	w := newSite(t, Options{})
	w.points(1500)
	for target, least := range map[string]int64{
		"/collections/empty/items/p000":                                                        0,
		"/collections/empty/items?limit=10&numberMatched=false":                                0,
		"/collections/empty/items?limit=1500":                                                  3,
		"/collections/empty/items?limit=10&bbox=-180,-90,180,90":                               3,
		"/collections/empty/items?limit=10&filter=NOT%20S_INTERSECTS(geometry,POINT(170%208))": 3,
		"/collections": 1,
	} {
		h := &countingHost{alone: alone{turns.New(1)}}
		w.host = h
		if a := w.do(http.MethodGet, target, ""); a.StatusCode != http.StatusOK {
			t.Errorf("%s: %d: %s", target, a.StatusCode, a.body)
		}
		if n := h.begun.Load(); n < least || least == 0 && n > 0 {
			t.Errorf("%s: %d turns, want at least %d", target, n, least)
		}
		// One that is over gives way to the next.
		if err := h.RunStep(t.Context(), "next", func() {}); err != nil || h.active.Load() != 0 {
			t.Errorf("%s: %d turns are kept, %v", target, h.active.Load(), err)
		}
	}
}
