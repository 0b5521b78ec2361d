package engine

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// CallOptions count the calls of a gRPC server. A call that has no end of its own, or that
// lasts as long as its client sends, is a stream and no request.
func (s *Service) CallOptions() []grpc.ServerOption {
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
			s.Observe(time.Since(began), failed(err))
			return answer, err
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, call grpc.StreamHandler) error {
			defer s.Open()()
			began := time.Now()
			err := call(srv, stream)
			if !info.IsClientStream && !strings.HasSuffix(info.FullMethod, "/Watch") {
				s.Observe(time.Since(began), failed(err))
			}
			return err
		}),
	}
}
