package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/storestats"
)

// store writes the metrics of a feature store; nil: it is being loaded.
func (e emitter) store(s *store.Stats) {
	if s == nil {
		e.gauge(ready, 0)
		return
	}
	e.gauge(ready, 1)
	for result, n := range s.Writes {
		e.count(writes, float64(n), result)
	}
	e.histogram(batched, &s.Batches, 1)
	e.histogram(commits, &s.Commits, 1e-6)
	e.gauge(queued, float64(s.Waiting))
	e.gauge(revision, float64(s.Revision))
	e.gauge(watchers, float64(s.Watchers))
	e.gauge(areas, float64(s.WatchedAreas))
	e.count(lagged, float64(s.Lagged))
	d := s.Disk
	if d == nil {
		return
	}
	e.histogram(fsyncs, &d.Syncs, 1e-6)
	e.gauge(logBytes, float64(d.LogBytes))
	e.gauge(durable, float64(d.Durable))
	bad := 0.0
	if d.ReadOnly != "" {
		bad = 1
	}
	e.gauge(readOnly, bad)
	e.count(recoveries, float64(d.Recoveries))
}

// histogram writes one whose bounds are powers of two of a unit. Prometheus'
// buckets include the lower ones.
func (e emitter) histogram(d *prometheus.Desc, h *storestats.Histogram, unit float64) {
	buckets, sum, upTo := make(map[float64]uint64, len(h.Buckets)), uint64(0), unit
	for i, n := range h.Buckets {
		sum += n
		if i%2 == 0 { // Every other is enough.
			buckets[upTo] = sum
		}
		upTo *= 2
	}
	e.ch <- prometheus.MustNewConstHistogram(d, h.Count, float64(h.Sum)*unit, buckets)
}
