package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/limits"
)

// errGRPC is wrapped when the address of --grpc is taken.
var errGRPC = errors.New("gRPC: address in use")

// serveGRPC starts the gRPC service on addr, if not empty, and returns its address and a
// function that ends it. It serves features once loaded is closed. Calls may take that
// part of the memory limit. A failure goes to fail.
func serveGRPC(ctx context.Context, addr string, part int64, srv *catfish.Server, guards guards, seen *observed, loaded <-chan struct{}, fail func(error)) (string, func(), error) {
	if addr == "" {
		return "", func() {}, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return "", nil, fmt.Errorf("%w: %w", errGRPC, err)
		}
		return "", nil, fmt.Errorf("gRPC: cannot listen on %q: %w", addr, err)
	}
	opts := []api.Option{api.WithKeys(guards.keys), api.WithTLS(guards.config()), api.WithGRPC(seen.grpc()...)}
	if srv.Recording() != nil {
		opts = append(opts, api.WithGRPC(grpc.StatsHandler(recordGRPC{srv})))
	}
	limit := srv.MemoryLimit()
	g := api.NewServer(api.ServerBackend(srv), append(opts,
		api.WithMaxAnswerBytes(limit/part), api.WithMaxLoadBytes(limit/limits.UploadsPart),
		api.WithMaxResults(srv.MaxResults()), api.WithFeaturesLater())...)
	go func() {
		select {
		case <-loaded:
			g.ServeFeatures(api.ServerFeatures(srv))
		case <-ctx.Done():
		}
	}()
	srv.ShowBudgets(g.Budgets)
	seen.register(g)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := g.Serve(l); err != nil {
			fail(fmt.Errorf("gRPC: %w", err))
		}
	}()
	return l.Addr().String(), func() {
		// Calls in flight may finish, within grpcGrace.
		kill, cancel := context.WithTimeout(context.Background(), grpcGrace)
		defer cancel()
		stop := context.AfterFunc(kill, g.Stop)
		g.GracefulStop()
		stop()
		<-done
	}, nil
}

// callsPartOf is the part of each of two services, if both are served.
func callsPartOf(grpcAddr, httpAddr string) int64 {
	if grpcAddr != "" && httpAddr != "" {
		return 2 * limits.CallsPart
	}
	return limits.CallsPart
}

// grpcGrace is how long calls in flight may take after Ctrl-C.
const grpcGrace = 2 * time.Second
