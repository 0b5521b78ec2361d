package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/storestats"
	"github.com/catfish-index/catfish/rstar"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixed is a server with constant statistics.
type fixed catfish.ServerStats

func (f *fixed) Stats() catfish.ServerStats { return catfish.ServerStats(*f) }

func (f *fixed) Requests() []catfish.RequestStats {
	return []catfish.RequestStats{{Transport: "shm", Kind: "search", Count: 10, Failed: 1, Seconds: 0.5, Buckets: []uint64{1, 2, 3, 0}}}
}

func sample() *fixed {
	return &fixed{
		Version: "v1", BootID: 0xabc, Uptime: 5, CPUSeconds: 3, Cores: 2, TCPRequests: 9,
		Transports: []catfish.TransportStats{{
			Transport: "shm", Connections: 4, ReadChannels: 6,
			Workers: []catfish.WorkerStats{{Requests: 10, BytesIn: 100, Waiting: 1}, {Requests: 20, BytesIn: 200, Waiting: 2, Posted: 7, Fetchable: 30}},
			Ended:   catfish.WorkerStats{Requests: 5, BytesIn: 50, Posted: 1},
		}},
		Collections: map[string]rstar.Stats{"cafes": {Len: 7, UsedBytes: 70, SlabBytes: 700, Searches: 11}, "\xff": {Len: 8}},
		Records:     map[string]catfish.RecordsStats{"kv": {UsedBytes: 80, MapStats: kv.Stats{Cache: kv.CacheStats{LimitBytes: 70, Bytes: 60, Evicted: 5, Hits: 4, Misses: 3}}}},
		Features:    map[string]catfish.FeaturesStats{"parks": {Tree: rstar.Stats{UsedBytes: 3}, Records: catfish.RecordsStats{UsedBytes: 4, MapStats: kv.Stats{Records: record.Stats{RetiredBytes: 5}}}}},
		Store: &store.Stats{
			Writes: map[string]uint64{"put": 5, "read_only": 2}, Watchers: 3, WatchedAreas: 4, Lagged: 1, Revision: 9, Waiting: 6,
			Batches: storestats.Histogram{Count: 3, Sum: 9, Buckets: []uint64{1, 1, 1, 0}},
			Commits: storestats.Histogram{Count: 2, Sum: 6, Buckets: []uint64{0, 1, 1}},
			Disk:    &disk.Stats{LogBytes: 77, Durable: 8, ReadOnly: "full", Recoveries: 2, Syncs: storestats.Histogram{Count: 1, Sum: 4, Buckets: []uint64{0, 0, 1}}},
		},
		Memory:    catfish.MemoryStats{Resident: 1, Limit: 2, Full: true},
		Budgets:   []catfish.BudgetStats{{Name: "bytes of answers", Used: 1, Limit: 2, Refused: 3, Cut: 4}},
		Recording: &catfish.RecordStats{Records: 1, Dropped: 2},
	}
}

func TestMetrics(t *testing.T) {
	r := New(sample())
	problems, err := testutil.GatherAndLint(r)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	text := scrape(t, sample(), "/metrics", http.StatusOK)
	for _, line := range []string{
		`catfish_info{boot_id="0xabc",version="v1"} 1`,
		`catfish_requests_total{transport="shm"} 35`, // With those of workers that have ended.
		`catfish_requests_total{transport="tcp"} 9`,
		`catfish_received_bytes_total{transport="shm"} 350`,
		`catfish_worker_posted_total{transport="shm"} 8`,
		`catfish_worker_fetchable_total{transport="shm"} 30`,
		`catfish_waiting_requests{transport="shm"} 3`,
		`catfish_read_channels{transport="shm"} 6`,
		`catfish_collection_objects{collection="cafes",kind="boxes"} 7`,
		`catfish_collection_objects{collection="\"\\xff\"",kind="boxes"} 8`, // Not UTF-8, which labels are.
		`catfish_collection_used_bytes{collection="kv",kind="records"} 80`,
		`catfish_collection_cache_bytes{collection="kv"} 60`,
		`catfish_collection_cache_limit_bytes{collection="kv"} 70`,
		`catfish_collection_evicted_total{collection="kv"} 5`,
		`catfish_collection_cache_gets_total{collection="kv",result="hit"} 4`,
		`catfish_collection_cache_gets_total{collection="kv",result="miss"} 3`,
		`catfish_collection_used_bytes{collection="parks",kind="features"} 7`,
		`catfish_collection_searches_total{collection="cafes"} 11`,
		`catfish_request_service_seconds_bucket{kind="search",transport="shm",le="2e-06"} 3`,
		`catfish_request_service_seconds_bucket{kind="search",transport="shm",le="8e-06"} 6`,
		`catfish_request_service_seconds_bucket{kind="search",transport="shm",le="+Inf"} 10`,
		`catfish_request_service_seconds_sum{kind="search",transport="shm"} 0.5`,
		`catfish_requests_failed_total{kind="search",transport="shm"} 1`,
		`catfish_memory_full 1`,
		`catfish_store_ready 1`,
		`catfish_store_writes_total{result="read_only"} 2`,
		`catfish_store_batch_writes_bucket{le="1"} 1`,
		`catfish_store_batch_writes_bucket{le="4"} 3`,
		`catfish_store_batch_writes_sum 9`,
		`catfish_store_commit_seconds_bucket{le="4e-06"} 2`,
		`catfish_store_commit_seconds_count 2`,
		`catfish_store_fsync_seconds_sum 4e-06`,
		`catfish_store_log_bytes 77`,
		`catfish_store_watchers 3`,
		`catfish_store_watchers_lagged_total 1`,
		`catfish_store_read_only 1`,
		`catfish_store_recoveries_total 2`,
		`catfish_collection_retired_bytes{collection="parks",kind="features"} 5`,
		`catfish_budget_cut_total{budget="bytes of answers"} 4`,
		`catfish_recording_dropped_total 2`,
		`catfish_collections_loading 0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
	for _, name := range names {
		if !strings.Contains(text, "\n"+name+"{") && !strings.Contains(text, "\n"+name+" ") && !strings.Contains(text, "\n"+name+"_bucket{") {
			t.Errorf("%s is described, and not there", name)
		}
	}
}

// Every metric is in the documentation.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Concat([]string{"catfish_scrape_duration_seconds"}, names, tileNames, httpNames, groupNames, mapNames) {
		if !strings.Contains(string(text), "`"+strings.TrimPrefix(name, "catfish_")) {
			t.Errorf("docs/operations.md does not name %s", name)
		}
	}
}

// The dashboard and the alerts ask for existing metrics.
func TestDeployed(t *testing.T) {
	for _, file := range []string{"grafana/catfish.json", "prometheus/alerts.yml"} {
		text, err := os.ReadFile("../../deploy/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".json") && !json.Valid(text) {
			t.Errorf("%s is not JSON", file)
		}
		asked := regexp.MustCompile(`catfish_[a-z_]+`).FindAllString(string(text), -1)
		if len(asked) < 8 {
			t.Errorf("%s asks for %q", file, asked)
		}
		for _, name := range asked {
			name = strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")
			if !slices.Contains(slices.Concat(names, tileNames, httpNames, groupNames, mapNames), name) {
				t.Errorf("%s asks for %s, which is not there", file, name)
			}
		}
		for _, name := range httpNames[:1] { // The one that users meet first.
			if !slices.Contains(asked, name+"_bucket") || !slices.Contains(asked, name+"_count") {
				t.Errorf("%s does not ask for %s", file, name)
			}
		}
	}
}

func always() error { return nil }

func TestProbes(t *testing.T) {
	s := sample()
	scrape(t, s, "/healthz", http.StatusOK)
	scrape(t, s, "/readyz", http.StatusOK)
	s.Loading = []string{"secret"}
	scrape(t, s, "/healthz", http.StatusOK)
	if text := scrape(t, s, "/readyz", http.StatusServiceUnavailable); strings.Contains(text, "secret") {
		t.Errorf("readyz tells names: %s", text)
	}
	scrape(t, s, "/", http.StatusNotFound)
	s.Loading = nil
	h := Handler(New(s), s, func() error { return errors.New("not in sync") }, slog.New(slog.DiscardHandler))
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable} {
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil)); w.Code != want {
			t.Errorf("%s of a member that is not in sync: %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
}

func scrape(t *testing.T, s Source, path string, want int) string {
	t.Helper()
	h := Handler(New(s), s, always, slog.New(slog.NewTextHandler(io.Discard, nil)))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	if w.Code != want {
		t.Errorf("%s: status %d, want %d: %s", path, w.Code, want, w.Body)
	}
	return w.Body.String()
}

// Connections beyond the bound are closed, and their places are free again.
func TestBound(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, l, Handler(New(sample()), sample(), always, slog.New(slog.NewTextHandler(io.Discard, nil))))
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	var held []net.Conn
	for range maxConnections {
		c := dial()
		held = append(held, c)
		// An answer shows that the connection has its place.
		if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	over := dial()
	if _, err := over.Read(make([]byte, 1)); err == nil {
		t.Error("a connection beyond the bound was served")
	}
	over.Close()
	for _, c := range held {
		c.Close()
	}
	for served := false; !served && t.Context().Err() == nil; {
		c := dial()
		_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		_, err := c.Read(make([]byte, 1))
		served = err == nil
		c.Close()
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
