package daemon

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"google.golang.org/grpc"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/web"
)

// Options of New, a field for each part. The zero value serves an empty default
// collection in memory, to clients of this host, without gRPC, HTTP and metrics.
type Options struct {
	// Server has the server's address, its collections and its directory. Its Keys and its
	// Logger are those of gRPC and HTTP, too.
	Server  server.Options
	GRPC    GRPC
	HTTP    HTTP
	TLS     TLS
	Metrics Metrics
	Group   Group
	// Traces sends traces of gRPC calls by OTLP, if the OTEL_ variables of the environment
	// name a collector. A program that has its own traces passes their handler in
	// GRPC.Options instead.
	Traces bool
	// Load, if not nil, fills collections. Start calls it, while Server.DataDir is being
	// read: srv.WaitReady waits for that. ctx ends if the daemon fails or is closed.
	Load func(ctx context.Context, srv *server.Server) error
	// Fill, if not nil, fills collections that are kept. Start calls it after Load, once the
	// store is there; of a member of a group, once it is the primary and the collections that
	// Server names are there. A secondary does not call it: it gets what the primary has.
	Fill func(ctx context.Context, srv *server.Server) error
}

// GRPC is the service of package api.
type GRPC struct {
	// Addr is its host:port, with port 0 for any; empty: none.
	Addr string
	// Options are added to the daemon's own: interceptors, statistics. grpc.InTapHandle
	// is taken.
	Options []grpc.ServerOption
}

// HTTP is the service of OGC API - Features, with vector tiles and a page for browsers.
type HTTP struct {
	// Addr is its host:port, with port 0 for any; empty: none. Without Server.Keys, at a
	// loopback address, it serves requests to this host alone.
	Addr string
	// Title and Description are for people.
	Title, Description string
	// URL is the address for clients, if a proxy stands before the service, such as
	// https://example.org/places. Empty: taken from the request.
	URL string
	// Origin is the web site whose pages may use the service (CORS), or *; empty: none.
	Origin string
	// Time is the property with the time of a feature; empty: "datetime".
	Time string
	// Basemap is a map of another server below the places of the page: the address of its
	// images, such as https://tile.example.org/{z}/{x}/{y}.png, and whose it is. Empty: the
	// land that the page has.
	Basemap struct{ URL, Attribution string }
	// TileBytes bounds the vector tiles that are kept, 0: a quarter of the memory of HTTP;
	// at most half of it. HTTP has an 18th of Server.MemoryLimit, or half of that with gRPC.
	TileBytes int64

	engine func(*server.Server) web.Engine
}

// WithEngine, for commands of this module, adds an engine room to the pages of HTTP, at
// /engine. New makes it, and Close closes it.
func WithEngine(o Options, room func(*server.Server) web.Engine) Options {
	o.HTTP.engine = room
	return o
}

// TLS names PEM files of the gRPC and HTTP services, and of streams between members of a
// group (Group.MemberCA), which are read again when they change. Rings and plain sockets have
// no TLS.
type TLS struct {
	Cert, Key string // the certificate, with those between it and the root, and its key
	// ClientCA has the roots of the certificates that clients then need; empty: they need
	// none.
	ClientCA string
}

// Metrics are Prometheus metrics (/metrics) and probes (/healthz, /readyz). Clients need no
// key.
type Metrics struct {
	// Addr is their host:port, with port 0 for any; empty: none.
	Addr string
}

// Validate returns an error, which wraps catfish.ErrOption, about the first value that New
// would refuse before it opens anything. The server checks its own options.
func (o *Options) Validate() error {
	for _, a := range []struct{ name, addr string }{
		{"GRPC.Addr", o.GRPC.Addr}, {"HTTP.Addr", o.HTTP.Addr}, {"Metrics.Addr", o.Metrics.Addr},
	} {
		if a.addr != "" && !isAddr(a.addr) {
			return badOption("%s is %q, want host:port with a port from 0 to 65535", a.name, a.addr)
		}
	}
	if err := o.Group.validate(&o.Server); err != nil {
		return err
	}
	if most := o.callBytes() / 2; o.HTTP.TileBytes != 0 && (o.HTTP.TileBytes < 0 || o.HTTP.TileBytes > most) {
		return badOption("HTTP.TileBytes is %d, want 0 (default) to %d, half of what HTTP may take of Server.MemoryLimit", o.HTTP.TileBytes, most)
	}
	switch t := o.TLS; {
	case (t.Cert == "") != (t.Key == ""):
		return badOption("TLS.Cert is %q and TLS.Key %q, want both or none", t.Cert, t.Key)
	case t.ClientCA != "" && t.Cert == "":
		return badOption("TLS.ClientCA is %q without TLS.Cert and TLS.Key", t.ClientCA)
	case t.Cert == "" && o.Group.MemberCA != "":
		return badOption("Group.MemberCA is %q without TLS.Cert and TLS.Key", o.Group.MemberCA)
	case t.Cert != "" && o.GRPC.Addr == "" && o.HTTP.Addr == "" && o.Group.MemberCA == "":
		return badOption("TLS.Cert is %q without GRPC.Addr, HTTP.Addr and Group.MemberCA: rings and plain sockets have no TLS", t.Cert)
	}
	return nil
}

// callBytes is the memory that the calls of gRPC, or of HTTP, may take.
func (o *Options) callBytes() int64 {
	limit := o.Server.MemoryLimit
	if limit == 0 {
		limit = server.DefaultMemoryLimit()
	}
	if o.GRPC.Addr != "" && o.HTTP.Addr != "" {
		limit /= 2
	}
	return limit / limits.CallsPart
}

// isAddr reports whether a listener may take an address. Names of ports are refused.
func isAddr(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

func badOption(format string, args ...any) error {
	return fmt.Errorf("%w: %w", model.ErrOption, fmt.Errorf(format, args...))
}
