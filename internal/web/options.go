package web

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/door"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/web/app"
	"github.com/catfish-index/catfish/internal/whole"
)

const (
	// DefaultMaxAnswerBytes bounds the memory of all requests together. A source may
	// hold half.
	DefaultMaxAnswerBytes = 1 << 30
	// DefaultTileCacheBytes bounds the cached tiles: some thousand.
	DefaultTileCacheBytes = 64 << 20
	// DefaultMaxConnections bounds the open connections, at some 20 KB each. A
	// source may have half.
	DefaultMaxConnections = 1 << 12
	// DefaultMaxStreams bounds the streams of events, at some 60 KB each. A source
	// may have half.
	DefaultMaxStreams = 1 << 11
	// DefaultIdleTimeout is how long the server waits for a client to receive or send
	// anything.
	DefaultIdleTimeout = limits.IdleTimeout
	// DefaultRequestTimeout bounds the time to find an answer: enough to look at each
	// of 20 million features.
	DefaultRequestTimeout = time.Minute
	// DefaultMaxBodyBytes bounds a request's body: 250,000 positions.
	DefaultMaxBodyBytes = 8 << 20

	// DefaultLimit and MaxLimit are the default and the largest limit of a page, as in
	// the standard's own example of the parameter.
	DefaultLimit, MaxLimit = 10, 10_000
)

// StreamsBudget names the budget of event streams among those of Budgets.
const StreamsBudget = "HTTP event streams"

// Options of a Server. The zero value has the defaults of the constants.
type Options struct {
	// Title and Description are for people. The default title is "Catfish".
	Title, Description string
	// URL is the server's address for clients, such as https://example.org/places, if a
	// proxy stands before it. Empty: taken from the request.
	URL string
	// Keys are those that the server accepts; nil: none is needed (catfish.OpenKeys).
	Keys *server.Keys
	// Origin is the web site, such as https://example.org, or *, whose pages may use
	// the server from a browser (CORS). Empty: only the server's own pages.
	Origin string
	// Time is the property with the time of a feature, for parameter datetime. Default:
	// "datetime".
	Time string

	// TileCacheBytes bounds the cached tiles, besides MaxAnswerBytes; less than 0: no
	// cache.
	TileCacheBytes int64
	// MaxDrawings bounds the tiles that are drawn at a time, which take DrawingBytes
	// each, besides MaxAnswerBytes. Default: the number of processors.
	MaxDrawings int
	// Basemap, if it has an address, is drawn below the places of the page at /.
	Basemap Basemap
	// Group, if not nil, is that of the member that this server is a door of (forward.go).
	Group *door.Group
	// Groups, if not nil, are those that may have the store together.
	Groups *whole.Groups
	// Engine, if not nil, is shown at /engine.
	Engine Engine

	MaxAnswerBytes int64
	MaxConnections int
	MaxStreams     int
	MaxBodyBytes   int64
	IdleTimeout    time.Duration
	RequestTimeout time.Duration

	// Ready, if not nil, says why this server should get no requests yet (/readyz).
	Ready func() error
	// Observe, if not nil, is called after each request.
	Observe func(context.Context, Observed)
	// Logger receives the server's own faults. Default: slog.Default().
	Logger *slog.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Basemap is a map of another server for the page at /.
type Basemap = app.Basemap

// ErrBasemap is wrapped by New's error if Options.Basemap has no address of images.
var ErrBasemap = app.ErrBasemap

// Observed describes a finished request.
type Observed struct {
	Method string
	Route  string // the pattern, such as /collections/{collectionId}/items; empty: no such page
	Status int    // 0: the client had disconnected
	Bytes  int64  // size of the answer's body
	Took   time.Duration
	Stream bool   // without an end of its own: Took is how long the client stayed
	Key    string // the id of the client's key, which is no secret; empty: none
}

func (o Options) withDefaults() Options {
	def(&o.Title, "Catfish")
	def(&o.Time, "datetime")
	def(&o.MaxAnswerBytes, DefaultMaxAnswerBytes)
	def(&o.TileCacheBytes, DefaultTileCacheBytes)
	def(&o.MaxDrawings, runtime.GOMAXPROCS(0))
	def(&o.MaxConnections, DefaultMaxConnections)
	def(&o.MaxStreams, DefaultMaxStreams)
	def(&o.MaxBodyBytes, DefaultMaxBodyBytes)
	def(&o.IdleTimeout, DefaultIdleTimeout)
	def(&o.RequestTimeout, DefaultRequestTimeout)
	def(&o.Logger, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Observe == nil {
		o.Observe = func(context.Context, Observed) {}
	}
	return o
}

// Share divides the memory for HTTP between cached tiles, tiles being drawn, and
// requests. Requests get at least three eighths. Drawings get an eighth; if one drawing
// needs more, one is made at a time. TileCacheBytes 0 is a quarter; the caller has checked
// that it is at most half.
func (o *Options) Share(bytes int64) {
	def(&o.TileCacheBytes, bytes/4)
	o.MaxDrawings = int(min(max(1, bytes/8/DrawingBytes), int64(runtime.GOMAXPROCS(0))))
	o.MaxAnswerBytes = bytes - o.TileCacheBytes - min(int64(o.MaxDrawings)*DrawingBytes, bytes/8)
}

func def[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}
