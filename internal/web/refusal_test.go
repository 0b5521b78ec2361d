package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// untaken is an answer that its client does not read until taken is closed.
type untaken struct {
	*httptest.ResponseRecorder
	taken chan struct{}
}

func (w *untaken) Write(p []byte) (int, error) {
	<-w.taken
	return w.ResponseRecorder.Write(p)
}

// A client that finds no room gets 503, but no more of these answers are written at a
// time than there are places: unread answers are held beside the budget.
func TestRefusalsHavePlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen atomic.Int64
		w := newSite(t, Options{MaxAnswerBytes: requestBytes - 1, Observe: func(_ context.Context, o Observed) {
			if o.Status == http.StatusServiceUnavailable {
				seen.Add(1)
			}
		}})
		const n = maxRefusals + 100
		taken := make(chan struct{})
		var aborted, refused atomic.Int64
		ask := func() {
			defer func() {
				switch v := recover().(type) {
				case nil:
				case error:
					if !errors.Is(v, http.ErrAbortHandler) {
						t.Error(v)
					}
					aborted.Add(1)
				default:
					t.Error(v)
				}
			}()
			a := &untaken{httptest.NewRecorder(), taken}
			w.ServeHTTP(a, httptest.NewRequest(http.MethodGet, "/collections", nil))
			if a.Code == http.StatusServiceUnavailable && a.Body.Len() > 0 {
				refused.Add(1)
			}
		}
		var all sync.WaitGroup
		for range n {
			all.Go(ask)
		}
		synctest.Wait()
		if aborted.Load() != n-maxRefusals {
			t.Errorf("%d of %d were ended without an answer, want %d", aborted.Load(), n, n-maxRefusals)
		}
		close(taken)
		all.Wait()
		if refused.Load() != maxRefusals || seen.Load() != n {
			t.Errorf("%d were answered, want %d; %d were observed, want %d", refused.Load(), maxRefusals, seen.Load(), n)
		}
		ask() // Places are free again.
		if refused.Load() != maxRefusals+1 {
			t.Error("a place was lost")
		}
	})
}
