package engine

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/web"
)

// Service counts the requests to a server over HTTP or gRPC. It is safe for
// concurrent use, and costs a few additions for a request.
type Service struct {
	name    string
	failed  atomic.Uint64
	open    atomic.Int64
	buckets [serviceBuckets]atomic.Uint64
}

const (
	// A bucket's times are up to a fifth longer than those of the one before:
	// so a quantile is up to a fifth too large.
	bucketsOfDouble = 4
	// 2^25 us are half a minute. The last bucket counts all longer times.
	serviceBuckets = 25*bucketsOfDouble + 1
)

// NewGRPC returns the service of gRPC calls, which its CallOptions count.
func NewGRPC() *Service { return &Service{name: "grpc"} }

// Observe counts a request that has ended; failed: by the server's fault.
func (s *Service) Observe(took time.Duration, failed bool) {
	i := 0
	if us := float64(took) / float64(time.Microsecond); us > 1 {
		i = min(int(math.Ceil(bucketsOfDouble*math.Log2(us))), serviceBuckets-1)
	}
	s.buckets[i].Add(1)
	if failed {
		s.failed.Add(1)
	}
}

// Open counts a stream until end is called.
func (s *Service) Open() (end func()) {
	s.open.Add(1)
	return func() { s.open.Add(-1) }
}

// served is the state of a service at one moment.
type served struct {
	of      *Service
	streams int // open
	failed  uint64
	buckets [serviceBuckets]uint64
}

func (s *Service) look() served {
	l := served{of: s, streams: int(s.open.Load()), failed: s.failed.Load()}
	for i := range s.buckets {
		l.buckets[i] = s.buckets[i].Load()
	}
	return l
}

// since returns the figures since an earlier look, some seconds ago.
func (s *served) since(from *served, seconds float64) web.EngineService {
	e := web.EngineService{Name: s.of.name, Streams: s.streams}
	var now [serviceBuckets]uint64
	all := uint64(0)
	for i := range now {
		now[i] = s.buckets[i] - from.buckets[i]
		all += now[i]
	}
	if seconds <= 0 || all == 0 {
		return e
	}
	e.Requests, e.Failed = float64(all)/seconds, float64(s.failed-from.failed)/seconds
	e.P50, e.P99 = quantile(&now, all, 0.5), quantile(&now, all, 0.99)
	return e
}

// quantile is the time in us that a share q of all requests did not exceed.
func quantile(buckets *[serviceBuckets]uint64, all uint64, q float64) float64 {
	seen, wanted := uint64(0), uint64(math.Ceil(q*float64(all)))
	for i, n := range buckets {
		if seen += n; seen >= wanted {
			return math.Exp2(float64(i) / bucketsOfDouble)
		}
	}
	return math.Exp2(float64(serviceBuckets-1) / bucketsOfDouble)
}
