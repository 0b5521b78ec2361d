package web

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"github.com/catfish-index/catfish/catfish/access"
	"github.com/catfish-index/catfish/web/app"
)

const (
	// DefaultMaxAnswerBytes bounds what all requests hold together. A source may
	// hold half.
	DefaultMaxAnswerBytes = 1 << 30
	// DefaultTileCacheBytes bounds the tiles that are kept: some thousand.
	DefaultTileCacheBytes = 64 << 20
	// DefaultMaxConnections bounds the open connections, at some 20 KB each. A
	// source may have half.
	DefaultMaxConnections = 1 << 12
	// DefaultMaxStreams bounds the streams of events, at some 60 KB each. A source
	// may have half.
	DefaultMaxStreams = 1 << 11
	// DefaultIdleTimeout is how long the server waits for a client to take or to
	// send anything.
	DefaultIdleTimeout = 30 * time.Second
	// DefaultRequestTimeout bounds the time to find an answer: enough to look at
	// each of 20 million features.
	DefaultRequestTimeout = time.Minute
	// DefaultMaxBodyBytes bounds a request's body: 250,000 positions.
	DefaultMaxBodyBytes = 8 << 20

	// DefaultLimit and MaxLimit are the features of a page, as in the standard's
	// own example of the parameter.
	DefaultLimit, MaxLimit = 10, 10_000
)

// Options of a Server. The zero value has the defaults of the constants.
type Options struct {
	// Title and Description are for people. The default title is "Catfish".
	Title, Description string
	// URL is how clients reach the server, such as https://example.org/places,
	// where a proxy stands before it. Empty: as the request says.
	URL string
	// Keys are whom the server serves; nil: everybody (catfish.OpenKeys).
	Keys *access.Keys
	// Origin is the web site, such as https://example.org, or *, whose pages may
	// use the server from a browser (CORS). Empty: none but the server's own.
	Origin string
	// Time is the property that has the time of a feature, for parameter
	// datetime. Default: "datetime".
	Time string

	// TileCacheBytes are for tiles that are kept, besides MaxAnswerBytes; less than
	// 0: none.
	TileCacheBytes int64
	// MaxDrawings bounds the tiles that are drawn at a time, which take DrawingBytes
	// each, besides MaxAnswerBytes. Default: as many as there are processors.
	MaxDrawings int
	// Basemap, if it has an address, lies under the places of the page at /.
	Basemap Basemap
	// Engine, if not nil, is what /engine shows.
	Engine Engine

	MaxAnswerBytes int64
	MaxConnections int
	MaxStreams     int
	MaxBodyBytes   int64
	IdleTimeout    time.Duration
	RequestTimeout time.Duration

	// Observe, if not nil, is called after each request.
	Observe func(context.Context, Observed)
	// Logger is for faults of the server's own. Default: slog.Default().
	Logger *slog.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Basemap is a map of another server for the page at /.
type Basemap = app.Basemap

// ErrBasemap is wrapped by New's error if Options.Basemap has no address of pictures.
var ErrBasemap = app.ErrBasemap

// Observed is what there is to tell of a request.
type Observed struct {
	Method string
	Route  string // the pattern, such as /collections/{collectionId}/items; empty: no such page
	Status int    // 0: the client had gone
	Bytes  int64  // of the answer's body
	Took   time.Duration
	Stream bool   // it has no end of its own: Took is how long the client stayed
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

func def[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}
