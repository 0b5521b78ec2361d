package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"google.golang.org/grpc"

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/engine"
	"github.com/catfish-index/catfish/internal/metrics"
	"github.com/catfish-index/catfish/internal/quietlog"
	"github.com/catfish-index/catfish/web"
)

// errMetrics is wrapped when the address of --metrics is taken.
var errMetrics = errors.New("metrics: address in use")

// observed is the state of a server's observation from outside (observe.go).
type observed struct {
	addr   string // of the metrics, empty: none are served
	log    *slog.Logger
	quiet  *quietlog.Handler
	calls  *grpcprom.ServerMetrics // nil: none are served
	pages  *metrics.HTTP           // nil: none are served
	tiles  metrics.Tiles           // of HTTP
	traces *tracing                // nil: none are sent
	stop   context.CancelFunc
	done   chan struct{}

	// For the engine room.
	requests *engine.Service            // over HTTP
	called   *engine.Service            // over gRPC, nil: it is not served
	site     atomic.Pointer[web.Server] // whose streams are counted
}

// newObserved serves metrics on addr, if not empty, already while the server
// loads. A later failure goes to fail.
func newObserved(ctx context.Context, srv *catfish.Server, addr string, log *slog.Logger, fail func(error)) (*observed, error) {
	o := &observed{quiet: quietlog.New(log.Handler(), time.Now), done: make(chan struct{})}
	o.requests = engine.NewService("http", func() int {
		if s := o.site.Load(); s != nil {
			return s.Streams()
		}
		return 0
	})
	o.log = slog.New(o.quiet)
	ctx, o.stop = context.WithCancel(ctx)
	var err error
	if o.traces, err = newTracingOfProcess(ctx); err != nil {
		o.stop()
		return nil, err
	}
	if addr == "" {
		close(o.done)
		return o, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		o.stop()
		o.traces.close(o.log)
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("%w: %w", errMetrics, err)
		}
		return nil, fmt.Errorf("metrics: cannot listen on %q: %w", addr, err)
	}
	o.addr, o.calls, o.pages = l.Addr().String(), grpcMetrics(), metrics.NewHTTP()
	h := metrics.Handler(metrics.New(srv, append(metrics.Process(), o.calls, o.pages.Took, o.pages.Bytes, &o.tiles)...), srv, o.log)
	go func() {
		defer close(o.done)
		if err := metrics.Serve(ctx, l, h); err != nil {
			fail(fmt.Errorf("metrics: %w", err))
		}
	}()
	return o, nil
}

// grpc returns the options of an observed gRPC server.
func (o *observed) grpc() []grpc.ServerOption {
	o.called = engine.NewService("grpc", nil)
	opts := append(append(o.traces.grpc(), logCalls(o.log)...), countCalls(o.called)...)
	if o.calls != nil {
		opts = append(opts, measureCalls(o.calls)...)
	}
	return opts
}

// services returns the services that the engine room shows.
func (o *observed) services() []*engine.Service {
	if o.called == nil {
		return []*engine.Service{o.requests}
	}
	return []*engine.Service{o.requests, o.called}
}

// register makes uncalled methods count as 0, instead of missing.
func (o *observed) register(g *api.Server) {
	if o.calls != nil {
		o.calls.InitializeMetrics(g)
	}
}

// close must be called after the end of the gRPC server.
func (o *observed) close() {
	o.stop()
	<-o.done
	o.traces.close(o.log)
	o.quiet.Flush()
}
