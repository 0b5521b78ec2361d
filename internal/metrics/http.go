package metrics

import "github.com/prometheus/client_golang/prometheus"

// httpNames are the names of the HTTP metrics, for tests of documentation and dashboard.
var httpNames = []string{"catfish_http_request_duration_seconds", "catfish_http_answer_bytes_total"}

// HTTP are metrics of HTTP requests, by method, page and status: a few dozen.
type HTTP struct {
	Took  *prometheus.HistogramVec // method, route, code
	Bytes *prometheus.CounterVec   // route
}

// NewHTTP makes them. The caller registers both.
func NewHTTP() *HTTP {
	return &HTTP{
		Took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: httpNames[0], Help: "Time to answer HTTP requests.",
			// 16 us to 4 s, as of gRPC calls.
			Buckets: []float64{16e-6, 64e-6, 256e-6, 1e-3, 4e-3, 16e-3, 64e-3, 0.25, 1, 4},
		}, []string{"method", "route", "code"}),
		Bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: httpNames[1], Help: "Bytes of the bodies of HTTP answers.",
		}, []string{"route"}),
	}
}
