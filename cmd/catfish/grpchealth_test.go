package main

import (
	"context"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/catfish"
)

// Until all is loaded health is NOT_SERVING, and no call is answered with what is
// there so far.
func TestHealthWhileLoading(t *testing.T) {
	srv, err := catfish.NewServer(catfish.ServerOptions{Transports: []string{"soft"}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	addr, loaded, stop, err := serveGRPC("127.0.0.1:0", srv, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if _, _, err := net.SplitHostPort(addr); err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	count := func() error {
		_, err := catfishv1.NewCatfishServiceClient(conn).Count(ctx, &catfishv1.CountRequest{
			Query: &catfishv1.Rect{MaxX: 1, MaxY: 1}})
		return err
	}
	health := func() healthpb.HealthCheckResponse_ServingStatus {
		r, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return r.GetStatus()
	}
	if is := health(); is != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health is %v before it has loaded", is)
	}
	if err := count(); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "loading") {
		t.Errorf("count before it has loaded: %v", err)
	}
	loaded()
	if is := health(); is != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health is %v when it has loaded", is)
	}
	if err := count(); err != nil {
		t.Errorf("count when it has loaded: %v", err)
	}
}
