package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/longer"
)

// A run by count makes exactly its calls, whatever the number of
// processes and goroutines that share them.
func TestRunCounted(t *testing.T) {
	cfg := quickConfig()
	cfg.Requests, cfg.Detail, cfg.Repeat = 101, true, 2
	cfg.Mix = Mix{Search: 90, Insert: 10}
	rows, err := runQuick(t, cfg, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		want := int64(cfg.Requests * cfg.Clients)
		if r.Requests != cfg.Requests || len(r.Detail.Calls) != 2 ||
			r.Detail.Calls[0] != want || r.Detail.Calls[1] != want {
			t.Errorf("%s: calls %v, want %d twice", r.Scheme, r.Detail.Calls, want)
		}
		if n := r.ByOp["search"].Count + r.ByOp["insert"].Count; n != 2*want {
			t.Errorf("%s: %d calls by kind, want %d", r.Scheme, n, 2*want)
		}
		if n := len(r.Detail.Moments); n == 0 || n > maxMoments {
			t.Errorf("%s: %d moments", r.Scheme, n)
		}
		cdf := r.Detail.CDF
		if cdf[0][1] != 0 || cdf[len(cdf)-1][1] != 1 {
			t.Errorf("%s: CDF from %v to %v", r.Scheme, cdf[0], cdf[len(cdf)-1])
		}
		for i := 1; i < len(cdf); i++ {
			if cdf[i][0] < cdf[i-1][0] || cdf[i][1] <= cdf[i-1][1] {
				t.Errorf("%s: CDF falls at %v", r.Scheme, cdf[i])
			}
		}
		if r.OpsPerS <= 0 || r.ClientUtil < 0 || r.ClientUtil > 1 {
			t.Errorf("%s: figures %+v", r.Scheme, r.Figures)
		}
	}
}

// Faults end a run by count like any other.
func TestRunCountedFaults(t *testing.T) {
	cfg := quickConfig()
	cfg.Requests = 1000
	_, err := runQuick(t, cfg, "search")
	if !errors.Is(err, child.ErrFailed) || !strings.Contains(err.Error(), "connection lost") {
		t.Errorf("got %v", err)
	}
	cfg.Requests = -1
	if _, err := runQuick(t, cfg, ""); !errors.Is(err, harness.ErrConfig) {
		t.Errorf("requests -1: %v", err)
	}
}

// A run by count that takes too long is cut, and its row says by how much.
func TestRunCut(t *testing.T) {
	cfg := quickConfig()
	cfg.Requests, cfg.Duration, cfg.Detail, cfg.Repeat = maxRequests/cfg.Clients, 20*time.Millisecond, true, 2
	var rows []Row
	var err error
	longer.Measure(t, cfg.Duration, func(d time.Duration) error {
		cfg.Duration = d
		if rows, err = runQuick(t, cfg, ""); err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if slices.Min(r.Detail.Calls) == 0 {
				return fmt.Errorf("%s: made %v calls", r.Scheme, r.Detail.Calls)
			}
		}
		return nil
	})
	for _, r := range rows {
		made := r.Detail.Calls[0] + r.Detail.Calls[1]
		if asked := int64(2 * cfg.Requests * cfg.Clients); r.Cut <= 0 || made <= 0 || made+r.Cut != asked {
			t.Errorf("%s: made %v and cut %d of %d", r.Scheme, r.Detail.Calls, r.Cut, asked)
		}
		if r.DurationS != cfg.Duration.Seconds() || r.OpsPerS <= 0 {
			t.Errorf("%s: cut at %v s, %v calls/s", r.Scheme, r.DurationS, r.OpsPerS)
		}
	}
	// A run with time to spare is not cut.
	cfg.Requests, cfg.Duration = 50, time.Hour
	if rows, err = runQuick(t, cfg, ""); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Cut != 0 || r.Detail.Calls[1] != int64(50*cfg.Clients) {
			t.Errorf("%s: made %v, cut %d", r.Scheme, r.Detail.Calls, r.Cut)
		}
	}
}

// A long run has few moments too, and their sums lose nothing.
func TestTimeline(t *testing.T) {
	for _, n := range []int{1, maxMoments, maxMoments + 1, 10*maxMoments + 7} {
		var l timeline
		for i := range n {
			l.add(Moment{
				At: time.Duration(i + 1), Fast: 2, Offloaded: 1, Util: float64(i) / float64(n),
			})
		}
		if len(l.moments) > maxMoments {
			t.Errorf("%d moments of %d", len(l.moments), n)
		}
		var sum Moment
		for _, m := range l.moments {
			if m.At <= sum.At {
				t.Fatalf("moment at %v after %v", m.At, sum.At)
			}
			sum = sum.with(m)
		}
		if sum.At != time.Duration(n) || sum.Fast != uint64(2*n) ||
			sum.Offloaded != uint64(n) || sum.Util != float64(n-1)/float64(n) {
			t.Errorf("%d: sum is %+v", n, sum)
		}
	}
}
