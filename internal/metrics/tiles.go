package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/catfish-index/catfish/internal/web/tile"
)

// Metrics of the cache of vector tiles. A test compares their names with
// docs/operations.md.
var (
	tileRequests  = tileDesc("requests_total", "Requests for vector tiles: hit (it was kept), miss (it was drawn), wait (another request was drawing it; a hit may follow).", "result")
	tileUncertain = tileDesc("uncertain_total", "Vector tiles that were drawn while a write was under way there, and not kept.")
	tileEvicted   = tileDesc("evicted_total", "Vector tiles that made room for others.")
	tileKept      = tileDesc("kept", "Vector tiles that are kept.")
	tileBytes     = tileDesc("kept_bytes", "What the vector tiles that are kept take.")
	tileLimit     = tileDesc("limit_bytes", "What they may take.")
)

// tileDescs and tileNames are their descriptions and names.
var (
	tileDescs []*prometheus.Desc
	tileNames []string
)

func tileDesc(name, help string, labels ...string) *prometheus.Desc {
	name = "catfish_http_tile_" + name
	d := prometheus.NewDesc(name, help, labels, nil)
	tileDescs, tileNames = append(tileDescs, d), append(tileNames, name)
	return d
}

// Tiles shows a cache of tiles. Before Of is called it shows nothing, as in a
// server without HTTP. The zero value is ready, and safe for concurrent use.
type Tiles struct {
	of atomic.Pointer[func() tile.CacheStats] // asked at each scrape
}

// Of sets the source of the figures: stats is safe for concurrent use.
func (t *Tiles) Of(stats func() tile.CacheStats) { t.of.Store(&stats) }

// Describe implements prometheus.Collector.
func (t *Tiles) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range tileDescs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (t *Tiles) Collect(ch chan<- prometheus.Metric) {
	stats := t.of.Load()
	if stats == nil {
		return
	}
	s, e := (*stats)(), emitter{ch}
	e.count(tileRequests, float64(s.Hits), "hit")
	e.count(tileRequests, float64(s.Misses), "miss")
	e.count(tileRequests, float64(s.Waits), "wait")
	e.count(tileUncertain, float64(s.Uncertain))
	e.count(tileEvicted, float64(s.Evicted))
	e.gauge(tileKept, float64(s.Tiles))
	e.gauge(tileBytes, float64(s.Bytes))
	e.gauge(tileLimit, float64(s.Limit))
}
