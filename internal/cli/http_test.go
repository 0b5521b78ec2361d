package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/internal/web"
)

// A first session over HTTP: real borders, a key, a proxy's address, metrics.
func TestHTTPSession(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys")
	reader := strings.TrimSpace(clitest.Succeed(t, "keys", "add", "-f", keys, "--name", "web", "--role", "countries:read"))
	p, _, ready := clitest.Serve(t, "--transport", "tcp", "--collection", "countries", "--load", "../../datasets/testdata/countries.geojson",
		"--keys", keys, "--http", "127.0.0.1:0", "--http-url", "https://example.org/geo/", "--metrics", "127.0.0.1:0")
	site := "http://" + readyField(t, ready, "http")
	items := site + "/collections/countries/items?limit=2&bbox=0,40,10,50"
	if status, body := clitest.Ask(t, items, ""); status != http.StatusUnauthorized {
		t.Errorf("without a key: %d %s", status, body)
	}
	status, body := clitest.Ask(t, items, reader)
	var page struct {
		NumberMatched, NumberReturned int
		Links                         []struct{ Rel, Href string }
	}
	if err := json.Unmarshal([]byte(body), &page); status != http.StatusOK || err != nil || page.NumberReturned != 2 || page.NumberMatched < 5 {
		t.Errorf("%d, %v: %.300s", status, err, body)
	}
	for _, l := range page.Links {
		if !strings.HasPrefix(l.Href, "https://example.org/geo/collections/countries") {
			t.Errorf("a link leads to %s", l.Href)
		}
	}
	for range 2 {
		if status, body := clitest.Ask(t, site+"/collections/countries/tiles/0/0/0.mvt", reader); status != http.StatusOK {
			t.Errorf("a tile: %d %s", status, body)
		}
	}
	for _, probe := range []string{"/healthz", "/readyz"} {
		if status, body := clitest.Ask(t, site+probe, ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", probe, status, body)
		}
	}
	_, metrics := clitest.Ask(t, "http://"+readyField(t, ready, "metrics")+"/metrics", "")
	for _, want := range []string{
		`catfish_http_request_duration_seconds_count{code="200",method="GET",route="/collections/{collectionId}/items"} 1`,
		`code="401"`, `catfish_http_answer_bytes_total{route="/collections/{collectionId}/items"}`, `HTTP connections`, `budget="HTTP event streams"`,
		`catfish_http_tile_requests_total{result="miss"} 1`, `catfish_http_tile_requests_total{result="hit"} 1`, `catfish_http_tile_kept 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics are without %s", want)
		}
	}
	clitest.Fail(t, ExitFailure, []string{"serve", "--listen", "127.0.0.1:0", "--transport", "tcp", "--http", strings.TrimPrefix(site, "http://")}, "--http")
	http.DefaultClient.CloseIdleConnections()
	if rest, code := p.Interrupt(t); code != ExitOK || rest != "" {
		t.Errorf("after Ctrl-C: exit %d, printed %q; %s", code, rest, p.ErrOut.String())
	}
	if log := p.ErrOut.String(); strings.Contains(log, reader) {
		t.Errorf("the log has the key: %s", log)
	}
}

func TestHTTPFlags(t *testing.T) {
	for _, args := range []string{
		"--http-url https://example.org", "--http-cors *", "--http x", "--http 127.0.0.1:0 --http-url x",
		"--http 127.0.0.1:0 --http-cors x", "--http-time when",
		"--http-basemap https://example.org/{z}/{x}/{y}", "--http 127.0.0.1:0 --http-basemap https://example.org/{z}/{x}",
		"--http 127.0.0.1:0 --http-basemap-attribution x", "--http-tiles 1MiB", "--http 127.0.0.1:0 --http-tiles -1", "--http 127.0.0.1:0 --memory-limit 1GiB --http-tiles 1GiB",
	} {
		clitest.Fail(t, ExitUsage, append([]string{"serve", "--listen", "127.0.0.1:0", "--transport", "tcp"}, strings.Fields(args)...), "--http")
	}
}

// The engine room shows requests over HTTP and gRPC, also without --metrics.
func TestEngineServices(t *testing.T) {
	p, _, ready := clitest.Serve(t, "--transport", "tcp", "--collection", "countries", "--load", "../../datasets/testdata/countries.geojson",
		"--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0")
	site := "http://" + readyField(t, ready, "http")
	conn, err := grpc.NewClient(readyField(t, ready, "grpc"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	calls := catfishv1.NewFeatureServiceClient(conn)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watch, err := calls.Watch(ctx, &catfishv1.FeatureServiceWatchRequest{Collection: "countries"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Header(); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, site+"/engine/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	// The test sends requests in each interval until one interval has shown them all.
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if status, body := clitest.Ask(t, site+"/collections/countries/items", ""); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		if _, err := calls.Get(ctx, &catfishv1.FeatureServiceGetRequest{Collection: "countries", Id: "none"}); status.Code(err) != codes.NotFound {
			t.Fatal(err)
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var s web.EngineSnapshot
		if err := json.Unmarshal([]byte(data), &s); err != nil {
			t.Fatal(err)
		}
		if of := s.Server.Services; len(of) != 2 || of[0].Name != "http" || of[1].Name != "grpc" {
			t.Fatalf("%s", data)
		}
		h, g := s.Server.Services[0], s.Server.Services[1]
		if h.Requests > 0 && h.P99 > 0 && h.Streams == 1 && h.Failed == 0 && g.Requests > 0 && g.P99 > 0 && g.Streams == 1 && g.Failed == 0 {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		t.Fatal(err)
	}
	cancel()
	http.DefaultClient.CloseIdleConnections()
	if _, code := p.Interrupt(t); code != ExitOK {
		t.Errorf("after Ctrl-C: exit %d, %s", code, p.ErrOut.String())
	}
}
