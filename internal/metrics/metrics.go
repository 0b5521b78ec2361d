// Package metrics shows a server to Prometheus.
//
// A scrape asks the server for its statistics, which take as long as 'catfish
// status', and writes figures made from those. Requests cost the same with metrics
// and without, unless the server counts them by kind (catfish.Server.Requests).
// A registry belongs to the caller; there is none for the process.
//
// Names follow Prometheus' conventions: base units, _total for values that only grow.
// Labels have few values: transports (4), kinds of requests (about 30), budgets (about 15),
// results of writes (8), and collections, of which a server has at most 1,024 at a time.
package metrics

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/catfish-index/catfish/catfish"
	rule "github.com/catfish-index/catfish/internal/names"
)

// Source is a server; *catfish.Server is one.
type Source interface {
	Stats() catfish.ServerStats
	Requests() []catfish.RequestStats
}

// collector asks a server at each scrape.
type collector struct {
	from Source
	took prometheus.Histogram // of Stats
}

// New returns a registry with the metrics of a server and those of more. The
// metrics of the Go runtime and the process may be among more: see Process.
func New(from Source, more ...prometheus.Collector) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(&collector{from: from, took: prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "catfish_scrape_duration_seconds", Help: "Time that the server's statistics took.",
		// A microsecond to a second: Stats takes each collection's writers' lock.
		Buckets: prometheus.ExponentialBuckets(1e-6, 4, 11),
	})})
	r.MustRegister(more...)
	return r
}

// The metrics. A test compares their names with docs/operations.md.
var (
	info = desc("info", "1; the labels say what runs.", "version", "boot_id")
	up   = desc("uptime_seconds", "Time since the server started.")
	cpu  = desc("cpu_seconds_total", "Processor time of the process, user and system.")
	core = desc("cores", "Cores that the process may use.")

	requests = desc("requests_total", "Requests by messages, by transport; searches that clients make by reading are not among them.", "transport")
	service  = desc("request_service_seconds", "Time that workers took for requests, by kind; without waits, and the first step of long ones.", "transport", "kind")
	failed   = desc("requests_failed_total", "Requests that were answered by an error.", "transport", "kind")
	bytesIn  = desc("received_bytes_total", "Bytes of requests over rings.", "transport")
	bytesOut = desc("sent_bytes_total", "Bytes of answers over rings.", "transport")
	busy     = desc("worker_busy_seconds_total", "Time in which workers worked.", "transport")
	spun     = desc("worker_spun_seconds_total", "Time in which workers polled and found nothing.", "transport")
	sleeps   = desc("worker_sleeps_total", "How often workers went to sleep.", "transport")
	batches  = desc("worker_batches_total", "Turns in which workers served several requests together.", "transport")
	posted   = desc("worker_posted_total", "Work requests that workers posted, for answers and for the room of requests; for answers that clients fetch none.", "transport")
	left     = desc("worker_fetchable_total", "Times that workers left answers for a client to fetch.", "transport")
	waiting  = desc("waiting_requests", "Requests that have arrived and are not served yet.", "transport")
	conns    = desc("connections", "Connections over rings.", "transport")
	channels = desc("read_channels", "Queue pairs by which clients read.", "transport")

	objects    = desc("collection_objects", "Objects of a collection.", "collection", "kind")
	usedBytes  = desc("collection_used_bytes", "Memory that a collection uses.", "collection", "kind")
	slabBytes  = desc("collection_slab_bytes", "Most memory that a collection may use.", "collection", "kind")
	searches   = desc("collection_searches_total", "Searches that the server made in a collection of boxes.", "collection")
	nodeReads  = desc("collection_node_reads_total", "Tree nodes that these searches read.", "collection")
	restarts   = desc("collection_restarts_total", "Searches that began again because writers moved nodes.", "collection")
	retries    = desc("collection_retries_total", "Nodes that were read again because writers changed them.", "collection")
	retired    = desc("collection_retired_bytes", "Memory of dead records that is yet to be used again.", "collection", "kind")
	cacheBytes = desc("collection_cache_bytes", "What the records of a cache count against its limit.", "collection")
	cacheLimit = desc("collection_cache_limit_bytes", "Limit of a cache.", "collection")
	evicted    = desc("collection_evicted_total", "Records that a cache has evicted.", "collection")
	cacheGets  = desc("collection_cache_gets_total", "Gets from a cache that the server has carried out, by result: hit or miss.", "collection", "result")
	loading    = desc("collections_loading", "Collections that are still being loaded.")

	ready      = desc("store_ready", "1 when what the store has kept is loaded.")
	writes     = desc("store_writes_total", "Writes of features, kept boxes and kept records, by what became of them; those that failed changed nothing.", "result")
	batched    = desc("store_batch_writes", "Writes that were committed together.")
	commits    = desc("store_commit_seconds", "Time that commits took; with --sync always until they were durable.")
	queued     = desc("store_waiting_writes", "Writes that have not begun.")
	revision   = desc("store_revision", "Revision of the last write.")
	watchers   = desc("store_watchers", "Watchers.")
	areas      = desc("store_watched_areas", "Areas of all watchers.")
	lagged     = desc("store_watchers_lagged_total", "Watchers that ended since they were too slow.")
	fsyncs     = desc("store_fsync_seconds", "Time that fsyncs of the write-ahead log took.")
	logBytes   = desc("store_log_bytes", "What the log of writes takes, before compression.")
	durable    = desc("store_durable_revision", "Revision up to which all is known to survive a crash.")
	readOnly   = desc("store_read_only", "1 while writes are refused since the disk is full or failed.")
	recoveries = desc("store_recoveries_total", "How often writes were taken again after that.")

	resident = desc("memory_resident_bytes", "Memory of the process that is resident.")
	limit    = desc("memory_limit_bytes", "What the server is to hold in memory.")
	full     = desc("memory_full", "1 while writes are refused for want of memory.")
	live     = desc("memory_live_bytes", "What Go's heap held in use after the last collection.")

	used    = desc("budget_used", "What clients hold of a budget, in its unit.", "budget")
	most    = desc("budget_limit", "What they may hold together.", "budget")
	sources = desc("budget_sources", "Hosts or processes that hold some of it.", "budget")
	refused = desc("budget_refused_total", "Requests for more that were refused.", "budget")
	cut     = desc("budget_cut_total", "Connections that were ended to make room.", "budget")

	recorded = desc("recorded_requests_total", "Requests in the recording.")
	missed   = desc("recording_dropped_total", "Requests that the recording misses.")
)

// all lists them for Describe, in order.
var all []*prometheus.Desc

// names are their names, for a test of the documentation.
var names []string

func desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc("catfish_"+name, help, labels, nil)
	all, names = append(all, d), append(names, "catfish_"+name)
	return d
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range all {
		ch <- d
	}
	c.took.Describe(ch)
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	began := time.Now()
	st := c.from.Stats()
	c.took.Observe(time.Since(began).Seconds())
	c.took.Collect(ch)
	e := emitter{ch}
	e.gauge(info, 1, st.Version, hex(st.BootID))
	e.gauge(up, st.Uptime)
	e.count(cpu, st.CPUSeconds)
	e.gauge(core, st.Cores)
	for i := range st.Transports {
		e.transport(&st.Transports[i])
	}
	e.count(requests, float64(st.TCPRequests), catfish.TransportTCP)
	for _, r := range c.from.Requests() {
		e.service(&r)
	}
	for name, t := range st.Collections {
		name = rule.Text(name)
		e.gauge(objects, float64(t.Len), name, catfish.KindBoxes)
		e.gauge(usedBytes, float64(t.UsedBytes), name, catfish.KindBoxes)
		e.gauge(slabBytes, float64(t.SlabBytes), name, catfish.KindBoxes)
		e.count(searches, float64(t.Searches), name)
		e.count(nodeReads, float64(t.NodeReads), name)
		e.count(restarts, float64(t.Restarts), name)
		e.count(retries, float64(t.Retries), name)
	}
	for name, r := range st.Records {
		name = rule.Text(name)
		e.gauge(objects, float64(r.Index.Items), name, catfish.KindRecords)
		e.gauge(usedBytes, float64(r.UsedBytes), name, catfish.KindRecords)
		e.gauge(slabBytes, float64(r.SlabBytes), name, catfish.KindRecords)
		e.gauge(retired, float64(r.Records.RetiredBytes), name, catfish.KindRecords)
		if c := r.Cache; c.LimitBytes > 0 {
			e.gauge(cacheBytes, float64(c.Bytes), name)
			e.gauge(cacheLimit, float64(c.LimitBytes), name)
			e.count(evicted, float64(c.Evicted), name)
			e.count(cacheGets, float64(c.Hits), name, "hit")
			e.count(cacheGets, float64(c.Misses), name, "miss")
		}
	}
	for name, f := range st.Features {
		name = rule.Text(name)
		e.gauge(objects, float64(f.Records.Index.Items), name, catfish.KindFeatures)
		e.gauge(usedBytes, float64(f.Records.UsedBytes+f.Tree.UsedBytes), name, catfish.KindFeatures)
		e.gauge(slabBytes, float64(f.Records.SlabBytes+f.Tree.SlabBytes), name, catfish.KindFeatures)
		e.gauge(retired, float64(f.Records.Records.RetiredBytes), name, catfish.KindFeatures)
	}
	e.store(st.Store)
	e.gauge(loading, float64(len(st.Loading)))
	e.memory(&st.Memory)
	for _, b := range st.Budgets {
		e.gauge(used, float64(b.Used), b.Name)
		e.gauge(most, float64(b.Limit), b.Name)
		e.gauge(sources, float64(b.Sources), b.Name)
		e.count(refused, float64(b.Refused), b.Name)
		e.count(cut, float64(b.Cut), b.Name)
	}
	if r := st.Recording; r != nil {
		e.count(recorded, float64(r.Records))
		e.count(missed, float64(r.Dropped))
	}
}

// emitter writes metrics.
type emitter struct{ ch chan<- prometheus.Metric }

func (e emitter) gauge(d *prometheus.Desc, v float64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (e emitter) count(d *prometheus.Desc, v float64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

// transport adds up a transport's workers, including those that have ended, so
// that counters never go back.
func (e emitter) transport(t *catfish.TransportStats) {
	sum, waits := t.Ended, 0
	for _, w := range t.Workers {
		sum.Requests += w.Requests
		sum.BytesIn += w.BytesIn
		sum.BytesOut += w.BytesOut
		sum.Busy += w.Busy
		sum.Spun += w.Spun
		sum.Sleeps += w.Sleeps
		sum.Batches += w.Batches
		sum.Posted += w.Posted
		sum.Fetchable += w.Fetchable
		waits += w.Waiting
	}
	e.count(requests, float64(sum.Requests), t.Transport)
	e.count(bytesIn, float64(sum.BytesIn), t.Transport)
	e.count(bytesOut, float64(sum.BytesOut), t.Transport)
	e.count(busy, sum.Busy, t.Transport)
	e.count(spun, sum.Spun, t.Transport)
	e.count(sleeps, float64(sum.Sleeps), t.Transport)
	e.count(batches, float64(sum.Batches), t.Transport)
	e.count(posted, float64(sum.Posted), t.Transport)
	e.count(left, float64(sum.Fetchable), t.Transport)
	e.gauge(waiting, float64(waits), t.Transport)
	e.gauge(conns, float64(t.Connections), t.Transport)
	e.gauge(channels, float64(t.ReadChannels), t.Transport)
}

func (e emitter) memory(m *catfish.MemoryStats) {
	e.gauge(resident, float64(m.Resident))
	e.gauge(limit, float64(m.Limit))
	e.gauge(live, float64(m.Live))
	v := 0.0
	if m.Full {
		v = 1
	}
	e.gauge(full, v)
}

// hex is how logs write a boot id.
func hex(id uint64) string { return fmt.Sprintf("%#x", id) }

// service is a histogram. Prometheus' buckets include the lower ones.
func (e emitter) service(r *catfish.RequestStats) {
	buckets, sum, upTo := make(map[float64]uint64, len(r.Buckets)), uint64(0), 1e-6
	for i, n := range r.Buckets {
		sum += n
		if i%2 == 1 { // Every other: 10 series of a kind and transport are enough.
			buckets[upTo] = sum
		}
		upTo *= 2
	}
	e.ch <- prometheus.MustNewConstHistogram(service, r.Count, r.Seconds, buckets, r.Transport, r.Kind)
	e.count(failed, float64(r.Failed), r.Transport, r.Kind)
}
