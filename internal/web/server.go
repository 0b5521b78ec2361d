package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/limits/tlsslots"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/web/app"
	"github.com/catfish-index/catfish/internal/web/tile"
	"github.com/catfish-index/catfish/internal/whole"
)

const (
	idleConnection = 2 * time.Minute // between requests
	// maxHeaderBytes is four times the longest filter with its escapes.
	maxHeaderBytes = 64 << 10
	// maxStreams bounds the requests in flight on one HTTP/2 connection: the
	// least that RFC 9113 section 6.5.2 recommends.
	maxStreams = 100
	// streamBytes is the part of a request's body that waits in an HTTP/2 connection,
	// the protocol's first window; connectionBytes is that of all its requests.
	streamBytes, connectionBytes = 64 << 10, 256 << 10
)

// Server serves collections of features over HTTP. It is an http.Handler, and contains
// its own http.Server with bounds. Its methods are safe for concurrent use.
type Server struct {
	o       Options
	host    limits.Host
	st      atomic.Pointer[store.Store] // nil: not loaded yet
	mux     *http.ServeMux
	answers *limits.Budget
	conns   *limits.Gate
	streams *limits.Budget // answers without an end
	// refusals has an element for each answer that is being written to a refused request.
	refusals chan struct{}
	cross    *http.CrossOriginProtection
	index    *app.Index
	urlHost  string // the host of Options.URL; empty: none
	tiles
	http      *http.Server
	members   *http.Server // of streams of members
	forwarder *forwarder   // nil: the server is in no group

	stopping context.Context // ends when the server is to stop
	stop     context.CancelFunc
}

// New returns a server of the store that ServeFeatures gives it. With a nil host
// there is always room, and the requests share scheduling slots among themselves.
func New(host limits.Host, o Options) (*Server, error) {
	o = o.withDefaults()
	if host == nil {
		host = limits.Alone{Slots: limits.NewLongSlots()}
	}
	s := &Server{
		o: o, host: host, tiles: newTiles(&o),
		answers: limits.NewBudget("bytes of HTTP requests", o.MaxAnswerBytes, o.MaxAnswerBytes/2),
		conns: &limits.Gate{
			Open: limits.NewBudget("HTTP connections", int64(o.MaxConnections), int64(o.MaxConnections+1)/2),
			Idle: o.IdleTimeout,
		},
		streams: limits.NewBudget(StreamsBudget, int64(o.MaxStreams), int64(o.MaxStreams+1)/2),
		cross:   http.NewCrossOriginProtection(),

		refusals: make(chan struct{}, maxRefusals),
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	if err := s.trust(); err != nil {
		return nil, err
	}
	var err error
	if s.index, err = app.NewIndex(o.Basemap); err != nil {
		return nil, err
	}
	s.routes()
	if o.Group != nil {
		s.forwarder = newForwarder(o.Group)
	}
	s.http, s.members = s.newHTTP(withConn), s.newHTTP(withMember)
	return s, nil
}

func (s *Server) newHTTP(of func(context.Context, net.Conn) context.Context) *http.Server {
	return &http.Server{
		Handler: s, ConnContext: of, ReadHeaderTimeout: limits.GreetingTimeout, IdleTimeout: idleConnection, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: log.New(quiet{}, "", 0),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerStream: streamBytes,
			MaxReceiveBufferPerConnection: connectionBytes, WriteByteTimeout: s.o.IdleTimeout,
		},
	}
}

// quiet drops net/http's log: clients can fill it without a limit, by failed handshakes
// or by disconnecting. recovered logs the panics of handlers.
type quiet struct{}

func (quiet) Write(p []byte) (int, error) { return len(p), nil }

// ServeFeatures sets the store once it is loaded; a server's is catfish.Server.Store.
// Until then requests for features are answered with 503.
func (s *Server) ServeFeatures(st *store.Store) { s.st.Store(st) }

// ready returns the store once it is set.
func (s *Server) ready() (whole.Store, error) {
	if st := s.st.Load(); st != nil {
		return whole.Of(st, s.o.Groups), nil
	}
	return whole.Store{}, fmt.Errorf("the server has yet to load its features: %w", catfish.ErrNotReady)
}

// Serve accepts connections on l until it fails or the server stops, which is no
// error, and closes l. With a TLS configuration it speaks HTTPS, else HTTP.
func (s *Server) Serve(l net.Listener, t *tls.Config) error {
	l = &listener{limits.Listener{Listener: l, Gate: s.conns}}
	var err error
	if t == nil {
		err = s.http.Serve(l)
	} else {
		s.http.TLSConfig = tlsslots.Config(withHTTP2(t), s.host, limits.GreetingTimeout)
		err = s.http.ServeTLS(l, "", "") // t has the certificates.
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// withHTTP2 returns a configuration that also offers HTTP/2. A configuration from
// GetConfigForClient is copied only when it has changed, because a copy forgets the
// sessions that clients would resume.
func withHTTP2(t *tls.Config) *tls.Config {
	t = t.Clone()
	t.NextProtos = []string{"h2", "http/1.1"}
	of := t.GetConfigForClient
	if of == nil {
		return t
	}
	type pair struct{ from, to *tls.Config }
	var last atomic.Pointer[pair]
	t.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		from, err := of(h)
		if from == nil || err != nil {
			return nil, err
		}
		p := last.Load()
		if p == nil || p.from != from {
			p = &pair{from, from.Clone()}
			p.to.NextProtos = t.NextProtos
			last.Store(p)
		}
		return p.to, nil
	}
	return t
}

// Shutdown accepts no more connections, ends streams of events, and waits for the
// requests in flight, until ctx ends; then it closes their connections. At the end it
// closes the engine room.
func (s *Server) Shutdown(ctx context.Context) {
	s.stop()
	for _, h := range []*http.Server{s.http, s.members} {
		if h.Shutdown(ctx) != nil {
			h.Close()
		}
	}
	if s.forwarder != nil {
		s.forwarder.transport.CloseIdleConnections()
	}
	if s.o.Engine != nil {
		s.o.Engine.Close()
	}
}

// TileStats returns the counters and the size of the vector tile cache.
func (s *Server) TileStats() tile.CacheStats { return s.tiles.cache.Stats() }

// Budgets returns what requests, connections, streams and tiles hold at this moment, for
// catfish.Server.ShowBudgets.
func (s *Server) Budgets() []catfish.BudgetStats {
	return []catfish.BudgetStats{
		catfish.BudgetStats(s.answers.Use()), catfish.BudgetStats(s.conns.Open.Use()), catfish.BudgetStats(s.streams.Use()), s.tiles.use(),
	}
}
