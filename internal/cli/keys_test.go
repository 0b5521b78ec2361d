package cli

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/certs"
	"github.com/catfish-index/catfish/internal/certs/certstest"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// readyField returns the value of a field of a ready line.
func readyField(t *testing.T, ready, name string) string {
	t.Helper()
	for f := range strings.FieldsSeq(ready) {
		if v, ok := strings.CutPrefix(f, name+"="); ok {
			return v
		}
	}
	t.Fatalf("no %s in %q", name, ready)
	return ""
}

// A first session with keys: created, used over RDMA and gRPC with TLS, shown in
// metrics, revoked while the server runs.
func TestKeysSession(t *testing.T) {
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys")
	reader := strings.TrimSpace(clitest.Succeed(t, "keys", "add", "-f", keys, "--name", "web", "--role", "default:read", "--rate", "1000"))
	admin := strings.TrimSpace(clitest.Succeed(t, "keys", "add", "-f", keys, "--name", "ops", "--role", "*:admin", "--expires", "24h"))
	if list := clitest.Succeed(t, "keys", "list", "-f", keys); !strings.Contains(list, "web") || !strings.Contains(list, "1000/s") ||
		strings.Contains(list, reader) || strings.Contains(list, "sha256") {
		t.Errorf("list says %s", list)
	}
	if list := clitest.Succeed(t, "keys", "list", "-f", keys, "--json"); strings.Contains(list, "hash") || !strings.Contains(list, `"name":"web"`) {
		t.Errorf("list says %s", list)
	}
	clitest.Fail(t, ExitFailure, []string{"serve", "--keys", filepath.Join(dir, "none")}, "--keys: ")
	ca := certstest.NewCA(t, dir, "ca")
	cert, certKey := ca.Issue(t, "server", 1)
	mine, mineKey := ca.Issue(t, "client", 2)
	p, addr, ready := clitest.Serve(t, "--verbose", "--load", "uniform", "--objects", "100", "--keys", keys,
		"--grpc", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", certKey, "--tls-client-ca", ca.File,
		"--metrics", "127.0.0.1:0")

	// The command line.
	search := []string{"search", "--server", addr, "--bbox", "0,0,1,1", "--limit", "1"}
	clitest.Fail(t, ExitFailure, search, "no valid key", "--key-file")
	t.Setenv(keyVariable, reader)
	clitest.Succeed(t, search...)
	insert := []string{"insert", "--server", addr, "--bbox", "0,0,1,1", "--id", "7"}
	clitest.Fail(t, ExitFailure, insert, "default", "want write")
	ops := clitest.File(t, "key", admin+"\n")
	clitest.Succeed(t, append(insert, "--key-file", ops)...)
	clitest.Succeed(t, "collections", "create", "--server", addr, "--key-file", ops, "more")
	if l := clitest.Succeed(t, "collections", "list", "--server", addr); strings.Contains(l, "more") {
		t.Errorf("the reader sees %s", l)
	}
	clitest.Fail(t, ExitUsage, append(search, "--key-file", clitest.File(t, "empty", "")), "no key")

	// The server knows a new key without a reload.
	late := clitest.Succeed(t, "keys", "add", "-f", keys, "--name", "late", "--role", "*:read")
	p.AwaitError(t, "keys reloaded")
	clitest.Succeed(t, append(search, "--key-file", clitest.File(t, "late", late))...)

	// gRPC.
	call := func(ctx context.Context, cert, certKey string) codes.Code {
		t.Helper()
		cfg, err := certs.Client(ca.File, cert, certKey)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := grpc.NewClient(readyField(t, ready, "grpc"), grpc.WithTransportCredentials(credentials.NewTLS(cfg)))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		ctx, cancel := context.WithTimeout(ctx, clitest.Patience)
		defer cancel()
		_, err = catfishv1.NewCatfishServiceClient(conn).Count(ctx, &catfishv1.CountRequest{Query: &catfishv1.Rect{MaxX: 1, MaxY: 1}})
		return status.Code(err)
	}
	withKey := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+reader)
	if c := call(withKey, mine, mineKey); c != codes.OK {
		t.Errorf("a call: %v", c)
	}
	if c := call(t.Context(), mine, mineKey); c != codes.Unauthenticated {
		t.Errorf("a call without a key: %v", c)
	}
	if c := call(withKey, "", ""); c != codes.Unavailable {
		t.Errorf("a call without a certificate: %v", c)
	}

	// Metrics.
	text := get(t, "http://"+readyField(t, ready, "metrics")+"/metrics")
	for _, line := range []string{
		`catfish_collection_objects{collection="default",kind="boxes"} 101`,
		`grpc_server_handled_total{grpc_code="OK",grpc_method="Count",grpc_service="catfish.v1.CatfishService",grpc_type="unary"} 1`,
		`grpc_server_handled_total{grpc_code="Unauthenticated",grpc_method="Count",grpc_service="catfish.v1.CatfishService",grpc_type="unary"} 1`,
		`grpc_server_handled_total{grpc_code="OK",grpc_method="Insert",grpc_service="catfish.v1.CatfishService",grpc_type="unary"} 0`,
		"go_goroutines ", "process_open_fds ",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %s in the metrics", line)
		}
	}
	if ok := get(t, "http://"+readyField(t, ready, "metrics")+"/readyz"); ok != "ready\n" {
		t.Errorf("readyz says %q", ok)
	}

	// Revoked, and reloaded at once. The log names the reload, and the refused calls.
	clitest.Succeed(t, "keys", "revoke", "-f", keys, "web")
	if err := p.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.AwaitError(t, "SIGHUP: keys and certificates reloaded")
	clitest.Fail(t, ExitFailure, search, "no valid key")
	if c := call(withKey, mine, mineKey); c != codes.Unauthenticated {
		t.Errorf("a call with a key that was revoked: %v", c)
	}
	// A bad file changes nothing.
	if err := os.WriteFile(keys, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.AwaitError(t, "not reloaded")
	clitest.Succeed(t, append(search, "--key-file", ops)...)
	if _, code := p.Interrupt(t); code != ExitOK {
		t.Errorf("exit %d: %s", code, p.ErrOut.String())
	}
	if e := p.ErrOut.String(); !strings.Contains(e, "grpc.code=Unauthenticated") || strings.Contains(e, reader[20:]) {
		t.Errorf("log: %s", e)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	c := http.Client{Timeout: clitest.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, res.Status, err)
	}
	return string(b)
}

// The flags refuse bad values.
func TestKeyFlagsAreChecked(t *testing.T) {
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys")
	for _, c := range []struct {
		code int
		args []string
		says string
	}{
		{ExitUsage, []string{"keys", "add", "--role", "*:read"}, "--file"},
		{ExitUsage, []string{"keys", "add", "-f", keys}, "no roles"},
		{ExitUsage, []string{"keys", "add", "-f", keys, "--role", "x"}, "want COLLECTION:read"},
		{ExitUsage, []string{"keys", "add", "-f", keys, "--role", "x:read", "--expires", "soon"}, "--expires"},
		{ExitUsage, []string{"keys", "add", "-f", keys, "--role", "x:read", "--expires", "-1h"}, "has passed"},
		{ExitUsage, []string{"keys", "add", "-f", keys, "--role", "x:read", "--burst", "5"}, "without a rate"},
		{ExitFailure, []string{"keys", "list", "-f", keys}, "no such file"},
		{ExitFailure, []string{"keys", "revoke", "-f", keys, "x"}, "no such key"},
		{ExitFailure, []string{"serve", "--listen", "127.0.0.1:0", "--keys", keys}, "no such file"},
		{ExitUsage, []string{"serve", "--tls-cert", "c"}, "--tls-key"},
		{ExitUsage, []string{"serve", "--tls-cert", "c", "--tls-key", "k"}, "--grpc"},
		{ExitUsage, []string{"serve", "--tls-client-ca", "c", "--grpc", ":0"}, "--tls-cert"},
		{ExitFailure, []string{"serve", "--grpc", ":0", "--tls-cert", "c", "--tls-key", "k"}, "bad TLS file"},
		{ExitUsage, []string{"serve", "--metrics", "x"}, "--metrics"},
	} {
		clitest.Fail(t, c.code, c.args, c.says)
	}
	if _, err := os.Stat(keys); err == nil {
		t.Error("a refused command made the file")
	}
}

// Traces go to the end point of the environment, with the caller's trace context.
func TestTraces(t *testing.T) {
	got := make(chan string, 16)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		select {
		case got <- r.URL.Path + string(b):
		default:
		}
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_SERVICE_NAME", "my-catfish")
	p, _, ready := clitest.Serve(t, "--grpc", "127.0.0.1:0")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	conn, err := grpc.NewClient(readyField(t, ready, "grpc"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), clitest.Patience)
	defer cancel()
	trace := "\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c"
	ctx = metadata.AppendToOutgoingContext(ctx, "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if _, err := catfishv1.NewCatfishServiceClient(conn).Stats(ctx, &catfishv1.StatsRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, code := p.Interrupt(t); code != ExitOK { // It sends the remaining traces.
		t.Errorf("exit %d: %s", code, p.ErrOut.String())
	}
	select {
	case b := <-got:
		for _, part := range []string{"/v1/traces", "catfish.v1.CatfishService/Stats", "my-catfish", trace} {
			if !strings.Contains(b, part) {
				t.Errorf("no %q in the trace", part)
			}
		}
	case <-time.After(clitest.Patience):
		t.Error("no trace came")
	}
}
