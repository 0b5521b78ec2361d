package engine

import (
	"math"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/web"
)

// A service shows the figures of the interval, with quantiles at most a fifth
// too large.
func TestService(t *testing.T) {
	s := NewGRPC()
	s.Observe(time.Hour, true) // Before the interval.
	first := s.look()
	for i := range 1000 {
		s.Observe(time.Duration(i+1)*time.Millisecond, i%100 == 0)
	}
	end := s.Open()
	now := s.look()
	e := now.since(&first, 2)
	if e.Name != "grpc" || e.Requests != 500 || e.Failed != 5 || e.Streams != 1 {
		t.Errorf("%+v", e)
	}
	for got, want := range map[float64]float64{e.P50: 500_000, e.P99: 990_000} {
		if got < want || got > 1.2*want {
			t.Errorf("a quantile of %.0f us, want %.0f or up to a fifth more", got, want)
		}
	}
	end()
	last := s.look()
	if e := last.since(&now, 1); e != (web.EngineService{Name: "grpc"}) {
		t.Errorf("without requests: %+v", e)
	}
}

// No time is without a bucket.
func TestServiceBuckets(t *testing.T) {
	for _, took := range []time.Duration{math.MinInt64, -1, 0, 1, time.Microsecond, 1001, time.Minute, math.MaxInt64} {
		s := NewGRPC()
		none := s.look()
		s.Observe(took, false)
		l := s.look()
		e := l.since(&none, 1)
		if e.Requests != 1 || e.P50 != e.P99 || took >= 0 && took < time.Minute/2 && e.P99 < float64(took)/1000 {
			t.Errorf("%v: %+v", took, e)
		}
	}
}
