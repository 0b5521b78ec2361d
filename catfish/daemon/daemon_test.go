package daemon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const anyPort = "127.0.0.1:0"

// all are options with all services.
func all() Options {
	return Options{
		Server: server.Options{
			Transports: []string{model.TransportSoft}, Features: map[string]model.FeaturesOptions{"cafes": {}},
			Logger: slog.New(slog.DiscardHandler),
		},
		GRPC: GRPC{Addr: anyPort}, HTTP: HTTP{Addr: anyPort}, Metrics: Metrics{Addr: anyPort},
	}
}

func open(t *testing.T, o Options) *Daemon {
	t.Helper()
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return d
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func health(t *testing.T, d *Daemon) healthpb.HealthCheckResponse_ServingStatus {
	t.Helper()
	conn, err := grpc.NewClient(d.Addrs().GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return r.GetStatus()
}

// TestReadiness: while Load runs, all services answer that they are not ready, and the
// collection refuses requests; afterwards all are ready.
func TestReadiness(t *testing.T) {
	o := all()
	o.Server.Loading = []string{"cafes"}
	loading, load := make(chan *server.Server), make(chan struct{})
	o.Load = func(ctx context.Context, srv *server.Server) error {
		if err := srv.WaitReady(ctx); err != nil {
			return err
		}
		loading <- srv
		<-load
		return nil
	}
	d := open(t, o)
	started := make(chan error, 1)
	go func() { started <- d.Start(t.Context()) }()
	srv := <-loading
	check := func(ready int, is healthpb.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if status, _ := get(t, d.Addrs().Metrics+"/healthz"); status != http.StatusOK {
			t.Errorf("/healthz: %d", status)
		}
		for _, at := range []string{d.Addrs().Metrics + "/readyz", d.Addrs().HTTP + "/readyz", d.Addrs().HTTP + "/collections/cafes/items"} {
			if status, body := get(t, at); status != ready {
				t.Errorf("%s: %d %s, want %d", at, status, body, ready)
			}
		}
		if got := health(t, d); got != is {
			t.Errorf("health is %v, want %v", got, is)
		}
	}
	check(http.StatusServiceUnavailable, healthpb.HealthCheckResponse_NOT_SERVING)
	if err := srv.Ready("cafes"); !errors.Is(err, model.ErrNotReady) {
		t.Errorf("cafes: %v, want ErrNotReady", err)
	}
	close(load)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	check(http.StatusOK, healthpb.HealthCheckResponse_SERVING)
	if err := srv.Ready("cafes"); err != nil {
		t.Error(err)
	}
	if _, body := get(t, d.Addrs().Metrics+"/metrics"); !strings.Contains(body, "catfish_http_request_duration_seconds_count") ||
		!strings.Contains(body, "grpc_server_handled_total") {
		t.Errorf("metrics without HTTP or gRPC: %s", body)
	}
}

// TestServiceFails: if one service fails, Start, or later Wait, returns its error.
func TestServiceFails(t *testing.T) {
	for i, name := range []string{"metrics", "gRPC", "HTTP"} {
		o := all()
		d := open(t, o)
		if err := d.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.services[i].l.Close()
		if err := d.Wait(t.Context()); !errors.Is(err, net.ErrClosed) || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("Wait: %v, want that of %s", err, name)
		}

		o.Load = func(ctx context.Context, _ *server.Server) error {
			d.services[i].l.Close()
			<-ctx.Done()
			return ctx.Err()
		}
		d = open(t, o)
		if err := d.Start(t.Context()); !errors.Is(err, net.ErrClosed) || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("Start: %v, want that of %s", err, name)
		}
	}
}

// TestLoadFails: Start returns the error of Load, and Close still closes all.
func TestLoadFails(t *testing.T) {
	o, bad := all(), errors.New("no such file")
	o.Load = func(context.Context, *server.Server) error { return bad }
	if err := open(t, o).Start(t.Context()); !errors.Is(err, bad) {
		t.Errorf("%v, want %v", err, bad)
	}
	o.Load = nil
	o.Server.Loading = []string{"cafes"}
	ctx, cancel := context.WithCancel(t.Context())
	o.Load = func(ctx context.Context, _ *server.Server) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	if err := open(t, o).Start(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want it to be cancelled", err)
	}
}

// TestAddressInUse: New names the service, and leaves nothing open: the test's check of
// goroutines would find it, and the server's own address is free again.
func TestAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", anyPort)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for service, set := range map[string]func(*Options){
		"gRPC":    func(o *Options) { o.GRPC.Addr = taken.Addr().String() },
		"HTTP":    func(o *Options) { o.HTTP.Addr = taken.Addr().String() },
		"metrics": func(o *Options) { o.Metrics.Addr = taken.Addr().String() },
	} {
		o := all()
		set(&o)
		var e *AddrError
		if _, err := New(o); !errors.As(err, &e) || e.Service != service || !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s: %v", service, err)
		}
	}
	o := all()
	o.Server.Listen = taken.Addr().String()
	if _, err := New(o); !errors.Is(err, model.ErrInUse) {
		t.Errorf("the server: %v", err)
	}
}

// TestClose: at any time, also before Start, while it loads, and twice.
func TestClose(t *testing.T) {
	open(t, Options{Server: all().Server})
	d := open(t, all())
	if err := errors.Join(d.Close(t.Context()), d.Close(t.Context()), d.Wait(t.Context())); err != nil {
		t.Error(err)
	}
	if err := d.Start(t.Context()); err == nil {
		t.Error("it starts after Close")
	}

	o := all()
	loading := make(chan struct{})
	o.Load = func(ctx context.Context, _ *server.Server) error {
		close(loading)
		<-ctx.Done()
		return ctx.Err()
	}
	d = open(t, o)
	started := make(chan error, 1)
	go func() { started <- d.Start(t.Context()) }()
	<-loading
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-started; !errors.Is(err, context.Canceled) {
		t.Errorf("Start: %v, want it to be interrupted", err)
	}
	for _, at := range []string{d.Addrs().Server, d.Addrs().GRPC, d.Addrs().HTTP, d.Addrs().Metrics} {
		if c, err := net.Dial("tcp", at); err == nil {
			c.Close()
			t.Errorf("%s is still open", at)
		}
	}
}

// TestWaitUntilContextEnds: an interrupt is no failure.
func TestWaitUntilContextEnds(t *testing.T) {
	d := open(t, all())
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Wait(ctx); err != nil {
		t.Error(err)
	}
}

// TestRequestsAreLogged: refused requests are warnings; no page of the log names more
// methods than there are.
func TestRequestsAreLogged(t *testing.T) {
	var log bytes.Buffer
	o := all()
	o.Server.Logger = slog.New(slog.NewTextHandler(&log, nil))
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	get(t, d.Addrs().HTTP+"/collections")
	health(t, d)
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`msg="http request" method=GET route=/collections status=200`, "grpc.service=grpc.health.v1.Health"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log is without %s:\n%s", want, &log)
		}
	}
	if method("GET") != "GET" || method("BREW") != "other" {
		t.Error("a client invents names of methods")
	}
}

// TestLinksNoCommand: a program that embeds a daemon has no profiles at
// http.DefaultServeMux, and neither the engine room with its clients nor the command line.
func TestLinksNoCommand(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Fields(string(out)) {
		for _, not := range []string{"net/http/pprof", "catfish/internal/engine", "catfish/internal/child", "catfish/bench", "spf13/cobra"} {
			if strings.Contains(p, not) {
				t.Errorf("package daemon links %s", p)
			}
		}
	}
}
