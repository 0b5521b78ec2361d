package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/stats"

	"github.com/catfish-index/catfish/catfish/model"
)

// tracing sends traces by OTLP. OpenTelemetry's own environment variables set what flags
// do not: the destination and protocol (OTEL_EXPORTER_OTLP_*), the share of traces
// (OTEL_TRACES_SAMPLER), the service's name (OTEL_SERVICE_NAME).
type tracing struct{ provider *trace.TracerProvider }

// newTracing returns nil if the environment does not request traces, by
// OTEL_TRACES_EXPORTER=otlp or by an end point.
func newTracing(ctx context.Context, getenv func(string) string) (*tracing, error) {
	endpoint := getenv("OTEL_EXPORTER_OTLP_ENDPOINT") + getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	exporter := getenv("OTEL_TRACES_EXPORTER")
	if exporter == "" && endpoint == "" || exporter == "none" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	if exporter != "" && exporter != "otlp" {
		return nil, badOption("OTEL_TRACES_EXPORTER is %q, want otlp or none", exporter)
	}
	protocol := getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
	if protocol == "" {
		protocol = getenv("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	var e trace.SpanExporter
	var err error
	switch protocol {
	case "", "http/protobuf": // the specification's default
		e, err = otlptracehttp.New(ctx)
	case "grpc":
		e, err = otlptracegrpc.New(ctx)
	default:
		return nil, badOption("OTEL_EXPORTER_OTLP_PROTOCOL is %q, want grpc or http/protobuf", protocol)
	}
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	res, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName("catfish"),
		semconv.ServiceVersion(model.Version)), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	return &tracing{trace.NewTracerProvider(trace.WithBatcher(e), trace.WithResource(res))}, nil
}

// grpc returns the options of a gRPC server that traces calls, except probes.
func (t *tracing) grpc() []grpc.ServerOption {
	if t == nil {
		return nil
	}
	return []grpc.ServerOption{grpc.StatsHandler(otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(t.provider),
		otelgrpc.WithPropagators(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})),
		otelgrpc.WithFilter(func(i *stats.RPCTagInfo) bool {
			return !strings.HasPrefix(i.FullMethodName, "/"+healthpb.Health_ServiceDesc.ServiceName+"/")
		}),
	))}
}

// traceGrace is how long sending the last traces may take when the daemon ends.
const traceGrace = 2 * time.Second

// close sends the remaining traces.
func (t *tracing) close(log *slog.Logger) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), traceGrace)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		log.Warn("the last traces were not sent", "err", err)
	}
}
