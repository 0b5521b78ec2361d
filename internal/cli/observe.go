package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/logging"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/engine"
)

// Observation of gRPC calls from outside: a log line each, Prometheus metrics
// with --metrics, and traces if the environment names a collector of them.

// logCalls logs each call when it has ended. No level is above warning: lines of higher
// levels are not bounded, so clients could fill the log with them.
func logCalls(log *slog.Logger) []grpc.ServerOption {
	to := logging.LoggerFunc(func(ctx context.Context, l logging.Level, msg string, fields ...any) {
		log.Log(ctx, slog.Level(l), msg, fields...)
	})
	opts := []logging.Option{
		logging.WithLogOnEvents(logging.FinishCall),
		logging.WithLevels(callLevel),
		logging.WithDurationField(logging.DurationToDurationField),
		logging.WithFieldsFromContext(func(ctx context.Context) logging.Fields {
			if key := api.KeyOf(ctx); key != "" {
				return logging.Fields{"key", key}
			}
			return nil
		}),
		// Fields that all lines of a server share carry no information.
		logging.WithDisableLoggingFields(logging.SystemTag[0], logging.ComponentFieldKey, logging.MethodTypeFieldKey),
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(logging.UnaryServerInterceptor(to, opts...)),
		grpc.ChainStreamInterceptor(logging.StreamServerInterceptor(to, opts...)),
	}
}

// callLevel: a call is information; a refused call, or one that the server cannot serve,
// is a warning.
func callLevel(c codes.Code) logging.Level {
	switch c {
	case codes.OK, codes.Canceled, codes.NotFound, codes.AlreadyExists, codes.InvalidArgument,
		codes.FailedPrecondition, codes.OutOfRange, codes.Aborted, codes.DeadlineExceeded:
		return logging.LevelInfo
	}
	return logging.LevelWarn
}

// grpcMetrics counts gRPC calls, by service, method and code: a few dozen.
func grpcMetrics() *grpcprom.ServerMetrics {
	return grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram(
		// 16 us to 4 s.
		grpcprom.WithHistogramBuckets([]float64{16e-6, 64e-6, 256e-6, 1e-3, 4e-3, 16e-3, 64e-3, 0.25, 1, 4}),
	))
}

func measureCalls(m *grpcprom.ServerMetrics) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(m.UnaryServerInterceptor()),
		grpc.ChainStreamInterceptor(m.StreamServerInterceptor()),
	}
}

// countCalls counts calls for the engine room. A call that has no end of its own, or that
// lasts as long as its client sends, is a stream and no request.
func countCalls(to *engine.Service) []grpc.ServerOption {
	failed := func(err error) bool {
		switch status.Code(err) {
		case codes.Unknown, codes.Internal, codes.Unavailable, codes.DataLoss:
			return true
		}
		return false
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, call grpc.UnaryHandler) (any, error) {
			began := time.Now()
			answer, err := call(ctx, req)
			to.Observe(time.Since(began), failed(err))
			return answer, err
		}),
		grpc.ChainStreamInterceptor(func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, call grpc.StreamHandler) error {
			defer to.Open()()
			began := time.Now()
			err := call(srv, s)
			if !info.IsClientStream && !strings.HasSuffix(info.FullMethod, "/Watch") {
				to.Observe(time.Since(began), failed(err))
			}
			return err
		}),
	}
}

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
		return nil, BadUsage("OTEL_TRACES_EXPORTER is %q, want otlp or none", exporter)
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
		return nil, BadUsage("OTEL_EXPORTER_OTLP_PROTOCOL is %q, want grpc or http/protobuf", protocol)
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

func newTracingOfProcess(ctx context.Context) (*tracing, error) { return newTracing(ctx, os.Getenv) }

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

// traceGrace is how long sending the last traces may take when the server ends.
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
