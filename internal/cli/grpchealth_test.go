package cli

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// While features are loaded, here from a pipe that does not end, health is
// NOT_SERVING.
func TestHealthWhileLoading(t *testing.T) {
	l, err := net.Listen("tcp", catfishtest.OwnAddr())
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), clitest.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "serve", "--listen", "127.0.0.1:0", "--grpc", addr,
		"--collection", "c", "--format", "geojsonseq", "--load", "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if _, err := io.WriteString(in, townJSON+"\n"); err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	watch, err := healthpb.NewHealthClient(conn).Watch(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	next := func() healthpb.HealthCheckResponse_ServingStatus {
		t.Helper()
		r, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return r.GetStatus()
	}
	if is := next(); is != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health is %v while it loads", is)
	}
	in.Close()
	if is := next(); is != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health is %v when it has loaded", is)
	}
}
