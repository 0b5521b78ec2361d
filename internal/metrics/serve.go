package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Process are the metrics of the Go runtime and of the process.
func Process() []prometheus.Collector {
	return []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	}
}

const (
	// maxScrapes bounds concurrent scrapes: others get 503. Each takes
	// the server's statistics.
	maxScrapes = 2
	// headerTimeout and idleTimeout bound clients that send nothing,
	// and answerTimeout those that read nothing.
	headerTimeout = 5 * time.Second
	idleTimeout   = time.Minute
	answerTimeout = 30 * time.Second
	// maxConnections bounds the connections: a few scrapers and probes.
	maxConnections = 64
	maxHeaderBytes = 16 << 10
)

// Handler serves
//
//	/metrics   the registry, in the formats that Prometheus asks for
//	/healthz   200 as long as the process answers
//	/readyz    200 when all collections are loaded and ready returns nil, 503 before
func Handler(r *prometheus.Registry, from Source, ready func() error, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{
		MaxRequestsInFlight: maxScrapes, ErrorLog: errorLog{log}, ErrorHandling: promhttp.ContinueOnError,
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		// Not the names, which a scraper need not know.
		if n := len(from.Stats().Loading); n > 0 {
			http.Error(w, fmt.Sprintf("%d collections are being loaded", n), http.StatusServiceUnavailable)
			return
		}
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ready\n")
	})
	return mux
}

type errorLog struct{ log *slog.Logger }

func (l errorLog) Println(v ...any) {
	l.log.Warn("metrics", "err", strings.TrimSpace(fmt.Sprintln(v...)))
}

// Serve answers on l until ctx is done, which is no error.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout,
		WriteTimeout: answerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
	}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	if err := s.Serve(newBounded(l, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// bounded is a listener that closes connections beyond a number: if they
// waited, a client that holds all of them could exclude others for longer.
type bounded struct {
	net.Listener
	places chan struct{}
}

func newBounded(l net.Listener, n int) *bounded { return &bounded{l, make(chan struct{}, n)} }

func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case b.places <- struct{}{}:
			return &place{Conn: c, of: b}, nil
		default:
			c.Close()
		}
	}
}

// place is a connection that returns its place when it is closed.
type place struct {
	net.Conn
	of   *bounded
	once sync.Once
}

func (p *place) Close() error {
	err := p.Conn.Close()
	p.once.Do(func() { <-p.of.places })
	return err
}
