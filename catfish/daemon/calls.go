package daemon

import (
	"context"
	"log/slog"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/logging"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/catfish-index/catfish/api"
)

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
