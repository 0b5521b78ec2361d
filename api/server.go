package api

import (
	"context"
	"net"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/encoding/gzip" // for clients that ask for it
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/limits/tlsslots"
)

const (
	// minPing is the shortest interval at which a client may ping; a client
	// that pings faster is disconnected. 10 s is the shortest interval to
	// which gRPC clients can be set.
	minPing = 10 * time.Second

	// idlePing and pingTimeout make the server notice a dead client
	// within 40 s, where TCP alone would take 15 minutes or more.
	idlePing    = 30 * time.Second
	pingTimeout = 10 * time.Second

	// idleConnection is the time after which a connection without calls is
	// asked to close. gRPC clients reconnect automatically.
	idleConnection = 15 * time.Minute

	// maxSilent bounds the connections that have not sent a byte. If 10,000
	// come in a second, the oldest has had 100 ms when it is closed.
	maxSilent = 1000

	// maxStreams bounds the in-flight calls of one connection: the least that
	// RFC 9113 section 6.5.2 recommends. After a call has ended, gRPC itself
	// keeps up to 80 KB that its client has not taken, 8 MB of a connection.
	maxStreams = 100

	// maxHeaderBytes bounds the headers of a call, as over HTTP. The server
	// holds them from their first byte on, before a budget counts the call.
	// gRPC's default of 16 MiB is 64 GiB on DefaultMaxConnections.
	maxHeaderBytes = 64 << 10
)

// Server is a gRPC server with the services catfish.v1.CatfishService, with
// WithFeatures also FeatureService and CollectionService,
// grpc.health.v1.Health and reflection. Its methods are safe for
// concurrent use.
type Server struct {
	grpc     *grpc.Server
	members  *grpc.Server // of streams of members; nil: the server is in no group
	forward  *forwarder
	health   *health.Server
	stopping context.Context
	stop     context.CancelFunc
	calls    *gate
	conns    *limits.Gate
	loads    *limits.Budget
	features *features // nil: not served
}

// NewServer returns a server in front of b. It serves nothing until Serve is
// called, and before that holds no resources that need a Stop.
func NewServer(b Backend, opts ...Option) *Server {
	o := newOptions(opts)
	if b.Host == nil {
		b.Host = limits.Alone{Slots: limits.NewLongSlots()}
	}
	s := &Server{health: health.NewServer()}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.calls = &gate{
		answers: limits.NewBudget("bytes of gRPC calls", o.maxAnswerBytes, o.maxAnswerBytes/2),
		idle:    o.idle, messageBytes: received * int64(o.maxMessageBytes), memory: b.Host, keys: o.keys,
		stopping: s.stopping,
	}
	s.loads = limits.NewBudget("bytes of gRPC uploads", o.maxLoadBytes, o.maxLoadBytes/4*3)
	s.conns = &limits.Gate{
		Silent: limits.NewReplacingBudget("silent gRPC connections", maxSilent),
		Open: limits.NewBudget("gRPC connections", int64(o.maxConnections),
			int64(o.maxConnections+1)/2),
		Idle: o.idle, // One write is at most 32 KB, which gRPC gathers.
	}
	var secure, forwarding, refusing, admitting []grpc.ServerOption
	if o.tls != nil {
		t := tlsslots.Config(o.tls, b.Host, limits.GreetingTimeout)
		secure = append(secure, grpc.Creds(credentials.NewTLS(t)))
	}
	if o.group != nil {
		s.forward = &forwarder{Group: o.group, groups: o.groups, calls: s.calls}
		forwarding = append(forwarding, grpc.ChainUnaryInterceptor(s.forward.unary), grpc.ChainStreamInterceptor(s.forward.stream))
		refusing = append(refusing, grpc.ChainUnaryInterceptor(s.forward.refuseUnary), grpc.ChainStreamInterceptor(s.forward.refuseStream))
	}
	if o.keys != nil {
		keys := guard{o.keys}
		admitting = append(admitting, grpc.ChainUnaryInterceptor(keys.unary), grpc.ChainStreamInterceptor(keys.stream))
	}
	common := slices.Concat([]grpc.ServerOption{
		grpc.MaxRecvMsgSize(received * o.maxMessageBytes),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime: minPing, PermitWithoutStream: true,
		}),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: idlePing, Timeout: pingTimeout,
			MaxConnectionIdle: idleConnection,
		}),
		grpc.ConnectionTimeout(limits.GreetingTimeout),
		grpc.ForceServerCodecV2(newCodec(o.maxMessageBytes)),
		grpc.InTapHandle(s.calls.tap),
		grpc.ChainUnaryInterceptor(s.calls.unary),
		grpc.ChainStreamInterceptor(s.calls.stream),
	}, o.grpc)
	// What refuses comes last, so that logs and metrics see it.
	s.grpc = grpc.NewServer(slices.Concat(common, secure, forwarding, admitting)...)
	if o.group != nil {
		s.members = grpc.NewServer(slices.Concat(common, refusing, admitting)...)
	}
	s.register(withSizes(catfishv1.CatfishService_ServiceDesc), &service{
		backend: b, options: o, loads: s.loads,
	})
	s.registerFeatures(b, o)
	s.calls.features = s.features
	healthpb.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)
	// The server as a whole ("") is SERVING from the start, or with its features.
	s.health.SetServingStatus(
		catfishv1.CatfishService_ServiceDesc.ServiceName,
		healthpb.HealthCheckResponse_SERVING)
	return s
}

// register adds a service.
func (s *Server) register(d *grpc.ServiceDesc, impl any) {
	s.grpc.RegisterService(d, impl)
	if s.members != nil {
		s.members.RegisterService(d, impl)
	}
}

// registerFeatures adds the services of features, if the options have them.
func (s *Server) registerFeatures(b Backend, o options) {
	if o.features == nil && !o.featuresLater {
		return
	}
	s.features = &features{boxes: b, options: o, loads: s.loads}
	s.features.watches.Store(newWatchBudget(0))
	s.register(withSizes(catfishv1.CollectionService_ServiceDesc), &collectionService{features: s.features})
	s.register(withSizes(catfishv1.FeatureService_ServiceDesc), &featureService{features: s.features})
	if o.features != nil {
		s.ServeFeatures(o.features)
		return
	}
	s.setFeaturesHealth(healthpb.HealthCheckResponse_NOT_SERVING)
}

// ServeFeatures is called when the features of a server with WithFeaturesLater
// are loaded; those of a catfish.Server are in its Store. It panics if the server has
// no such services.
func (s *Server) ServeFeatures(st *server.Store) {
	s.features.watches.Store(newWatchBudget(st.WatchLimits().Areas))
	s.features.store.Store(st)
	s.setFeaturesHealth(healthpb.HealthCheckResponse_SERVING)
}

func (s *Server) setFeaturesHealth(to healthpb.HealthCheckResponse_ServingStatus) {
	s.health.SetServingStatus("", to)
	s.health.SetServingStatus(catfishv1.CollectionService_ServiceDesc.ServiceName, to)
	s.health.SetServingStatus(catfishv1.FeatureService_ServiceDesc.ServiceName, to)
}

// Serve accepts connections on l until it fails or the server stops, and closes
// l. After GracefulStop or Stop it returns nil, or grpc.ErrServerStopped if
// Serve began after that. Several listeners may be served at once.
func (s *Server) Serve(l net.Listener) error {
	return s.grpc.Serve(&limits.Listener{Listener: l, Gate: s.conns})
}

// ServeMembers is Serve for streams of other members, whose calls it does not forward. For
// packages of this module.
func (s *Server) ServeMembers(l net.Listener) error {
	return s.members.Serve(&limits.Listener{Listener: l, Gate: s.conns})
}

// Budgets returns what calls, uploads and connections hold now, for
// catfish.Server.ShowBudgets.
func (s *Server) Budgets() []catfish.BudgetStats {
	var all []catfish.BudgetStats
	budgets := []*limits.Budget{s.calls.answers, s.loads, s.conns.Open, s.conns.Silent}
	if s.features != nil {
		budgets = append(budgets, s.features.watches.Load())
	}
	for _, b := range budgets {
		all = append(all, catfish.BudgetStats(b.Use()))
	}
	return all
}

// GracefulStop turns health to NOT_SERVING, accepts no more connections and
// calls, and waits for those in flight. A client that reads its answer slowly
// delays it: a caller in a hurry calls Stop in the meantime.
func (s *Server) GracefulStop() {
	s.health.Shutdown()
	s.stop()
	// gRPC waits for connections in their handshake, and closes those that completed it.
	s.conns.End(false)
	if s.members != nil {
		s.members.GracefulStop()
	}
	s.grpc.GracefulStop()
	s.closeForward()
}

// Stop closes all connections at once; calls in flight end with
// UNAVAILABLE at their clients, and their outcome is unknown to them.
func (s *Server) Stop() {
	s.health.Shutdown()
	s.stop()
	s.conns.End(true)
	if s.members != nil {
		s.members.Stop()
	}
	s.grpc.Stop()
	s.closeForward()
}

func (s *Server) closeForward() {
	if s.forward != nil {
		s.forward.close()
	}
}

// GetServiceInfo returns the methods of each service, for metrics.
func (s *Server) GetServiceInfo() map[string]grpc.ServiceInfo { return s.grpc.GetServiceInfo() }
