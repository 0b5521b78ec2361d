package api

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/rstar"
)

const serviceName = "catfish.v1.CatfishService"

// TestHealth checks the status of the server and of the service, and that
// a graceful stop ends a watch instead of waiting for it.
func TestHealth(t *testing.T) {
	c := startLoopback(t, trees{"default": treeOf(t)}.alone())
	ctx := testContext(t)
	h := healthpb.NewHealthClient(c.conn)
	for _, name := range []string{"", serviceName} {
		res, err := h.Check(ctx, &healthpb.HealthCheckRequest{Service: name})
		if err != nil ||
			res.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Fatalf("check %q: %v, %v", name, res, err)
		}
	}
	_, err := h.Check(ctx, &healthpb.HealthCheckRequest{Service: "other"})
	if status.Code(err) != codes.NotFound {
		t.Fatalf("check other: %v", err)
	}

	watch, err := h.Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() { c.server.GracefulStop(); close(stopped) }()
	await(t, "GracefulStop", stopped)
	for err == nil { // Perhaps NOT_SERVING comes first.
		_, err = watch.Recv()
	}
	if ctx.Err() != nil {
		t.Fatal("the watch went on until the test's deadline")
	}
}

// TestGracefulStopWaits checks that a call in flight is answered, and that
// Stop ends the wait for one that is not.
func TestGracefulStopWaits(t *testing.T) {
	for _, force := range []bool{false, true} {
		entered, finish := make(chan struct{}), make(chan struct{})
		col := &faulty{treeOf(t), func(string) error {
			close(entered)
			<-finish
			return nil
		}}
		c := startLoopback(t, trees{"default": col}.alone())
		answered := make(chan error, 1)
		go func() {
			_, err := c.Insert(testContext(t), &catfishv1.InsertRequest{
				Item: pbItem(rstar.Item{ID: 1}),
			})
			answered <- err
		}()
		await(t, "the insert", entered)
		stopped := make(chan struct{})
		go func() { c.server.GracefulStop(); close(stopped) }()
		if force {
			go c.server.Stop()
			err := await(t, "the answer", answered)
			if status.Code(err) != codes.Unavailable {
				t.Fatalf("a stopped call ended by %v", err)
			}
			close(finish)
		} else {
			close(finish)
			if err := await(t, "the answer", answered); err != nil {
				t.Fatal(err)
			}
		}
		await(t, "GracefulStop", stopped)
	}
}

// TestReflection reads the service's methods as grpcurl does.
func TestReflection(t *testing.T) {
	c := startLoopback(t, trees{"default": treeOf(t)}.alone())
	stream, err := reflectpb.NewServerReflectionClient(c.conn).
		ServerReflectionInfo(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	err = stream.Send(&reflectpb.ServerReflectionRequest{
		MessageRequest: &reflectpb.ServerReflectionRequest_FileContainingSymbol{
			FileContainingSymbol: serviceName,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	methods := map[string]bool{}
	for _, b := range res.GetFileDescriptorResponse().GetFileDescriptorProto() {
		var file descriptorpb.FileDescriptorProto
		if err := proto.Unmarshal(b, &file); err != nil {
			t.Fatal(err)
		}
		for _, s := range file.GetService() {
			for _, m := range s.GetMethod() {
				methods[m.GetName()] = true
			}
		}
	}
	for _, m := range []string{"Insert", "Update", "Delete", "Search",
		"Nearest", "Count", "Load", "Stats"} {
		if !methods[m] {
			t.Errorf("reflection does not show %s: %v", m, methods)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

// TestOversizedMessage sends more than the server accepts: that call ends,
// nothing is stored, and the connection remains usable.
func TestOversizedMessage(t *testing.T) {
	const limit = 64 << 10
	for name, start := range transports {
		t.Run(name, func(t *testing.T) {
			col := treeOf(t)
			c := start(t, trees{"default": col}.alone(), WithMaxMessageBytes(limit))
			ctx := testContext(t)
			items := randomItems(rand.New(rand.NewPCG(17, 18)), 2000)
			if n := proto.Size(loadRequest(items)); n <= limit {
				t.Fatalf("the test's message has only %d bytes", n)
			}
			_, err := c.load(ctx, "", items, len(items))
			if status.Code(err) != codes.ResourceExhausted || col.Len() != 0 {
				t.Fatalf("%v, %d objects", err, col.Len())
			}
			if _, err := c.load(ctx, "", items, 500); err != nil ||
				col.Len() != len(items) {
				t.Fatalf("smaller ones: %v, %d objects", err, col.Len())
			}
		})
	}
}

// TestPingFlood pings faster than minPing: the server sends GOAWAY with
// ENHANCE_YOUR_CALM (RFC 9113 section 7), and other connections keep working.
func TestPingFlood(t *testing.T) {
	c := startLoopback(t, trees{"default": treeOf(t)}.alone())
	conn, err := net.Dial("tcp", c.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	f := http2.NewFramer(conn, conn)
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if err := f.WritePing(false, [8]byte{byte(i)}); err != nil {
			break // Closed already; the GOAWAY can still be read.
		}
	}
	for {
		fr, err := f.ReadFrame()
		if err != nil {
			t.Fatalf("no GOAWAY: %v", err)
		}
		if g, ok := fr.(*http2.GoAwayFrame); ok {
			if g.ErrCode != http2.ErrCodeEnhanceYourCalm {
				t.Fatalf("GOAWAY with %v", g.ErrCode)
			}
			break
		}
	}
	if _, err := c.Stats(testContext(t), &catfishv1.StatsRequest{}); err != nil {
		t.Fatal(err)
	}
}

// TestServeAfterStop checks the documented error.
func TestServeAfterStop(t *testing.T) {
	s := NewServer(trees{}.alone())
	s.Stop()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(l); !errors.Is(err, grpc.ErrServerStopped) {
		t.Fatalf("Serve: %v", err)
	}
}
