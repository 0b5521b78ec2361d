package daemon

import (
	"net"
	"os"
	"strconv"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"google.golang.org/grpc"

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/internal/metrics"
	"github.com/catfish-index/catfish/internal/web"
)

// observed is what can be seen of a daemon from outside, besides its log.
type observed struct {
	calls  *grpcprom.ServerMetrics // nil: no metrics are served
	pages  *metrics.HTTP           // nil: no metrics are served
	tiles  metrics.Tiles           // of HTTP
	group  metrics.Group
	traces *tracing // nil: none are sent
}

// observe makes the metrics' service, which shows the server already while it loads, and
// what sends traces.
func (d *Daemon) observe() (err error) {
	o := &d.seen
	if d.o.Traces {
		if o.traces, err = newTracing(d.ctx, os.Getenv); err != nil {
			return err
		}
	}
	if d.o.Metrics.Addr == "" {
		return nil
	}
	s, err := d.listen("metrics", d.o.Metrics.Addr, &d.addrs.Metrics)
	if err != nil {
		return err
	}
	o.calls, o.pages = grpcMetrics(), metrics.NewHTTP()
	h := metrics.Handler(metrics.New(d.srv, append(metrics.Process(), o.calls, o.pages.Took, o.pages.Bytes, &o.tiles, &o.group)...), d.srv, d.ready, d.log)
	if d.o.Group.on() {
		o.group.Of(d.groupMember)
	}
	s.serve = func(l net.Listener) error { return metrics.Serve(d.ctx, l, h) }
	return nil
}

// grpc returns the options of a gRPC server that measure its calls.
func (o *observed) grpc() []grpc.ServerOption {
	if o.calls == nil {
		return nil
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(o.calls.UnaryServerInterceptor()),
		grpc.ChainStreamInterceptor(o.calls.StreamServerInterceptor()),
	}
}

// register makes uncalled methods count as 0, instead of missing.
func (o *observed) register(g *api.Server) {
	if o.calls != nil {
		o.calls.InitializeMetrics(g)
	}
}

// request counts a request over HTTP that has ended.
func (o *observed) request(r web.Observed) {
	if o.pages == nil {
		return
	}
	if !r.Stream { // The duration of a stream is no latency.
		o.pages.Took.WithLabelValues(method(r.Method), r.Route, strconv.Itoa(r.Status)).Observe(r.Took.Seconds())
	}
	o.pages.Bytes.WithLabelValues(r.Route).Add(float64(r.Bytes))
}
