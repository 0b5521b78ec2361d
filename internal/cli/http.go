package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/engine"
	"github.com/catfish-index/catfish/web"
)

// ErrHTTP is wrapped when the address of --http is taken.
var ErrHTTP = errors.New("HTTP: address in use")

// httpFlags are the flags of 'serve' about HTTP.
type httpFlags struct {
	addr, url, origin, time string
	basemap                 web.Basemap
	tiles                   int64 // bytes
	load                    bool  // --engine-load
	flags                   *pflag.FlagSet
}

func (f *httpFlags) register(c *cobra.Command) {
	fs := c.Flags()
	f.flags = fs
	fs.StringVar(&f.addr, "http", "", "host:port to serve features on over HTTP (OGC API - Features), empty: none")
	fs.StringVar(&f.url, "http-url", "", "how clients reach --http through a proxy, such as https://example.org/places; empty: as they say. Without\n"+
		"--keys, --http on a loopback address serves only localhost, IP addresses and this host")
	fs.StringVar(&f.origin, "http-cors", "", "web site whose pages may use --http, such as https://example.org, or * for all; empty: none")
	fs.BoolVar(&f.load, "engine-load", false, "the engine room of --http (/engine) may start clients that search, in processes of their own: at most\n"+
		fmt.Sprintf("%d, for %d s, one load at a time; with --keys it takes role admin of *", engine.MaxClients, engine.MaxSeconds))
	fs.StringVar(&f.time, "http-time", "datetime", "property that has the time of a feature, for parameter datetime of --http")
	fs.StringVar(&f.basemap.URL, "http-basemap", "", "map under the places of the page of --http: the address of its pictures, such as\n"+
		"https://tile.example.org/{z}/{x}/{y}.png, which browsers ask that server for; empty: the land that the page has")
	fs.StringVar(&f.basemap.Attribution, "http-basemap-attribution", "", "whose map --http-basemap is, in plain text; empty: its host")
	fs.Var(byteSize{&f.tiles}, "http-tiles", "bytes of vector tiles that --http keeps, such as 256MiB, at most half of what HTTP may take of\n"+
		"--memory-limit; 0: a quarter of that")
}

// check refuses flags that would do nothing.
func (f *httpFlags) check() error {
	if f.basemap.URL == "" {
		if err := NoUse(f.flags, "without --http-basemap", "http-basemap-attribution"); err != nil {
			return err
		}
	}
	if f.addr != "" {
		return CheckAddr("http", f.addr, 0)
	}
	return NoUse(f.flags, "without --http", "http-url", "http-cors", "http-time", "http-tiles", "http-basemap", "engine-load")
}

// share divides the memory for HTTP between cached tiles, tiles being drawn, and
// requests. Requests get at least three eighths. Drawings get an eighth; if one drawing
// needs more, one is made at a time.
func (f *httpFlags) share(bytes int64, o *web.Options) error {
	o.TileCacheBytes = f.tiles
	switch {
	case f.tiles < 0 || f.tiles > bytes/2:
		return BadUsage("--http-tiles %d, want 0 (default) to %d, half of what HTTP may take of --memory-limit", f.tiles, bytes/2)
	case f.tiles == 0:
		o.TileCacheBytes = bytes / 4
	}
	o.MaxDrawings = int(min(max(1, bytes/8/web.DrawingBytes), int64(runtime.GOMAXPROCS(0))))
	o.MaxAnswerBytes = bytes - o.TileCacheBytes - min(int64(o.MaxDrawings)*web.DrawingBytes, bytes/8)
	return nil
}

// httpGrace is how long requests in flight may take after Ctrl-C.
const httpGrace = grpcGrace

// serveHTTP starts the HTTP service, if it has an address, and returns its address and a
// function that ends it. It serves features once loaded is closed. Requests may take that
// part of the memory limit. A failure goes to fail.
func serveHTTP(f httpFlags, part int64, srv *catfish.Server, guards guards, seen *observed, loaded <-chan struct{}, fail func(error)) (string, func(), error) {
	if f.addr == "" {
		return "", func() {}, nil
	}
	var spawn child.Spawn
	if f.load {
		var err error
		if spawn, err = loadSpawner(); err != nil {
			return "", nil, err
		}
	}
	return serveRoom(newRoom(srv, spawn, nil, seen), f, part, srv, guards, seen, loaded, fail)
}

// serveRoom is serveHTTP with an engine room, which it closes.
func serveRoom(room *engine.Room, f httpFlags, part int64, srv *catfish.Server, guards guards, seen *observed, loaded <-chan struct{}, fail func(error)) (string, func(), error) {
	o := web.Options{
		Engine: room, Basemap: f.basemap, URL: f.url, Origin: f.origin, Time: f.time, Keys: guards.keys, Observe: seen.http, Logger: seen.log,
	}
	if err := f.share(srv.MemoryLimit()/part, &o); err != nil {
		room.Close()
		return "", nil, err
	}
	s, err := web.New(srv, o)
	if err != nil {
		room.Close()
		if errors.Is(err, web.ErrBasemap) {
			return "", nil, BadUsage("--http-basemap: %w", err)
		}
		return "", nil, BadUsage("--http-url %q, --http-cors %q: %w", f.url, f.origin, err)
	}
	l, err := net.Listen("tcp", f.addr)
	if err != nil {
		room.Close()
		if errors.Is(err, syscall.EADDRINUSE) {
			return "", nil, fmt.Errorf("%w: %w", ErrHTTP, err)
		}
		return "", nil, fmt.Errorf("HTTP: cannot listen on %q: %w", f.addr, err)
	}
	t := guards.config()
	srv.ShowBudgets(s.Budgets)
	seen.tiles.Of(s.TileStats)
	seen.site.Store(s)
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		select {
		case <-loaded:
			s.ServeFeatures(api.ServerFeatures(srv))
		case <-stopped:
		}
	}()
	go func() {
		defer close(done)
		if err := s.Serve(l, t); err != nil {
			fail(fmt.Errorf("HTTP: %w", err))
		}
	}()
	return l.Addr().String(), func() {
		ctx, cancel := context.WithTimeout(context.Background(), httpGrace)
		defer cancel()
		close(stopped)
		s.Shutdown(ctx)
		<-done
		room.Close()
	}, nil
}

// newRoom watches a server for the engine room, whose load, if it has spawn, runs on the
// cores cpus.
func newRoom(srv *catfish.Server, spawn child.Spawn, cpus affinity.Set, seen *observed) *engine.Room {
	return engine.New(engine.Options{Server: srv, Spawn: spawn, CPUs: cpus, Services: seen.services()})
}

// http observes a request that has ended.
func (o *observed) http(ctx context.Context, r web.Observed) {
	method := r.Method
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
	default:
		method = "other" // Clients could invent any number of names.
	}
	if !r.Stream {
		o.requests.Observe(r.Took, r.Status >= http.StatusInternalServerError)
	}
	if o.pages != nil {
		if !r.Stream { // The duration of a stream is no latency.
			o.pages.Took.WithLabelValues(method, r.Route, strconv.Itoa(r.Status)).Observe(r.Took.Seconds())
		}
		o.pages.Bytes.WithLabelValues(r.Route).Add(float64(r.Bytes))
	}
	level := slog.LevelInfo
	switch {
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusForbidden, r.Status == http.StatusTooManyRequests,
		r.Status >= http.StatusInternalServerError:
		level = slog.LevelWarn // as for gRPC calls
	}
	if !o.log.Enabled(ctx, level) {
		return // without the list of values, which takes memory
	}
	args := []any{"method", method, "route", r.Route, "status", r.Status, "bytes", r.Bytes, "took", r.Took.Round(time.Microsecond)}
	if r.Key != "" {
		args = append(args, "key", r.Key)
	}
	o.log.Log(ctx, level, "http request", args...)
}
