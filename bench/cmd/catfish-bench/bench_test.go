package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/internal/longer"
)

// One call, several schemes: one JSON object each, with consistent figures,
// and the figures that each scheme must show.
func TestBenchRun(t *testing.T) {
	longer.Measure(t, 300*time.Millisecond, func(d time.Duration) error { return benchRun(t, d) })
}

// benchRun returns as an error the checks that a short measurement may fail.
func benchRun(t *testing.T, d time.Duration) error {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	schemes := []string{"tcp", "fast-polling", "fast", "offload-single", "offload", "paper"}
	table := clitest.Succeed(t, "bench", "run", "--scheme", strings.Join(schemes, ","),
		"--dataset", "uniform", "--objects", "5000", "--scale", "0.1", "--clients", "3",
		"--in-flight", "4", "--client-procs", "2", "--duration", d.String(),
		"--warmup", "100ms", "--seed", "5", "--transport", "shm", "--json", path)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := map[string]bench.Row{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		r := clitest.Decode[bench.Row](t, lines.Text())
		for _, key := range strings.Fields("scheme transport dataset objects scale mix " +
			"clients in_flight server_cpus client_cpus ops_per_s mean_us p50_us p99_us " +
			"p999_us server_cpu_util offload_share round_trips_per_search reads_per_search " +
			"bytes_per_search restarts_per_search torn_reads results_per_search node_bytes " +
			"simulated commit") {
			if !strings.Contains(lines.Text(), `"`+key+`":`) {
				t.Errorf("%s: no %s", r.Scheme, key)
			}
		}
		if len(rows) >= len(schemes) || schemes[len(rows)] != r.Scheme {
			t.Fatalf("row %d is of %s", len(rows), r.Scheme)
		}
		rows[r.Scheme] = r
		if !strings.Contains(table, r.Scheme) {
			t.Errorf("%s is not in the table:\n%s", r.Scheme, table)
		}
	}
	if len(rows) != len(schemes) {
		t.Fatalf("%d rows, want %d", len(rows), len(schemes))
	}
	for name, r := range rows {
		transport := "shm"
		if name == "tcp" {
			transport = "tcp"
		}
		if r.Transport != transport || r.Objects != 5000 || r.Mix != "search=100" ||
			r.Scale != "0.1" || r.Clients != 3 || r.InFlight != 4 || r.NodeBytes == 0 || r.Simulated {
			t.Errorf("%s: %+v", name, r)
		}
		if r.OpsPerS <= 0 || r.MeanUs <= 0 || r.P50Us > r.P99Us || r.P99Us > r.P999Us ||
			r.CPUUtil < 0 || r.CPUUtil > 1 || r.Bytes <= 0 {
			t.Errorf("%s: figures %+v", name, r.Figures)
		}
		// 5000 objects, windows of 0.05 by 0.05 on average.
		if r.Results < 6 || r.Results > 25 {
			return fmt.Errorf("%s: %v results a search, want about 12.5", name, r.Results)
		}
		offloads := strings.HasPrefix(name, "offload")
		if name != "paper" && (r.Offload == 1) != offloads ||
			offloads && (r.Reads < 1 || r.Trips < 1) || r.Offload == 0 && (r.Trips < 0.99 || r.Trips > 1.01) {
			return fmt.Errorf("%s: offload share %v, %v reads, %v trips", name, r.Offload, r.Reads, r.Trips)
		}
	}
	if s, m := rows["offload-single"].Trips, rows["offload"].Trips; s < m {
		return fmt.Errorf("one read at a time needs %v round trips, several %v", s, m)
	}
	return nil
}

func TestBenchRunMixed(t *testing.T) {
	longer.Measure(t, 200*time.Millisecond, func(d time.Duration) error {
		out := clitest.Succeed(t, "bench", "run", "--scheme", "fast,offload", "--dataset", "california",
			"--scale", "power", "--mix", "search=60,nearest=10,insert=10,delete=10,update=10",
			"--clients", "2", "--in-flight", "2", "--duration", d.String(), "--warmup", "50ms",
			"--repeat", "2", "--json", "-")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if len(lines) != 2 {
			t.Fatalf("%d lines, want 2: %s", len(lines), out)
		}
		for _, l := range lines {
			r := clitest.Decode[bench.Row](t, l)
			if s := r.Spread["p50_us"]; s[0] > r.P50Us || s[1] < r.P50Us || r.Objects != 21693 {
				t.Errorf("%s: %+v", r.Scheme, r)
			}
			for _, op := range []string{"search", "nearest", "insert", "delete", "update"} {
				if r.ByOp[op].Count == 0 {
					return fmt.Errorf("%s: no %s", r.Scheme, op)
				}
			}
		}
		return nil
	})
}

func TestBenchRunBatch(t *testing.T) {
	// The counters of one sample are read in order, while searches continue.
	longer.Measure(t, 200*time.Millisecond, func(d time.Duration) error {
		out := clitest.Succeed(t, "bench", "run", "--scheme", "tcp,fast,offload", "--objects", "5000", "--scale", "0.1",
			"--clients", "2", "--in-flight", "2", "--duration", d.String(), "--warmup", "50ms", "--transport", "shm",
			"--batch", "16", "--json", "-")
		for l := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
			r := clitest.Decode[bench.Row](t, l)
			if r.Batch != 16 || r.OpsPerS <= 0 {
				t.Errorf("%s: %+v", r.Scheme, r)
			}
			if one := 1. / 16; r.Results < 6 || r.Results > 25 || r.Offload == 0 && (r.Trips < 0.9*one || r.Trips > 1.1*one) {
				return fmt.Errorf("%s: %v results and %v round trips a search, want about 12.5 and %v", r.Scheme, r.Results, r.Trips, one)
			}
		}
		return nil
	})
	clitest.Fail(t, cli.ExitUsage, []string{"bench", "run", "--batch", "0"}, "--batch")
}

func TestBenchRunFailures(t *testing.T) {
	clitest.Fail(t, cli.ExitFailure, []string{"bench", "run", "--dataset", "missing.csv"}, "missing.csv")
	clitest.Fail(t, cli.ExitFailure, []string{"bench", "run", "--json", "/no/such/dir/x"}, "--json", "/no/such/dir/x")
	bad := clitest.File(t, "bad.csv", "id,minx,miny,maxx,maxy\n1,9,0,1,1\n")
	code, _, errOut := clitest.Program(t, "bench", "run", "--dataset", bad, "--scheme", "fast")
	if code != cli.ExitFailure || !strings.Contains(errOut, "line 2") {
		t.Errorf("exit %d, says %s", code, errOut)
	}
}

func TestDemo(t *testing.T) {
	began := time.Now()
	out := clitest.Succeed(t, "demo", "--duration", "2s", "--http", "off")
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("a demo of 2 s took %v", took)
	}
	for _, s := range []string{"transport: shm (shared memory, no RDMA hardware)",
		"21693 objects of california", "fast/s", "summary: ", "searches/s"} {
		if !strings.Contains(out, s) {
			t.Errorf("does not show %q:\n%s", s, out)
		}
	}
	if n := strings.Count(out, "s  "); strings.Contains(out, "\x1b") || n < 4 {
		t.Errorf("want at least 4 plain lines:\n%s", out)
	}
}

// Ctrl-C ends a demo in order, with its summary.
func TestDemoInterrupted(t *testing.T) {
	p := clitest.Start(t, "demo", "--duration", "10m", "--transport", "soft", "--http", "127.0.0.1:0", "--places", "../../../datasets/testdata/countries.geojson")
	url, line := "", ""
	for !strings.Contains(line, " 1280 ") { // The first frame: 128 callers, 100 ms each.
		if line = p.Line(t); strings.HasPrefix(line, "page:") {
			url = strings.Fields(line)[1]
		}
	}
	// The page shows the places, and the engine room the show's clients.
	if status, body := clitest.Ask(t, url+"collections/places/items?limit=1", ""); status != 200 || !strings.Contains(body, `"numberReturned":1`) {
		t.Errorf("places: %d %.200s", status, body)
	}
	res, err := http.Get(url + "engine/events")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	events := bufio.NewScanner(res.Body)
	for !strings.Contains(events.Text(), `"clients":8`) || !strings.Contains(events.Text(), `"name":"load-8"`) {
		if !events.Scan() {
			t.Fatalf("the stream ended: %v", events.Err())
		}
	}
	if status, body := clitest.Ask(t, url+"engine", ""); status != 200 || !strings.Contains(body, `"allowed":true`) {
		t.Errorf("engine: %d %.200s", status, body)
	}
	http.DefaultClient.CloseIdleConnections()
	rest, code := p.Interrupt(t)
	if code != cli.ExitOK || !strings.Contains(rest, "summary: ") || p.ErrOut.String() != "" {
		t.Errorf("exit %d, printed %q, said %q", code, rest, p.ErrOut.String())
	}
}

// Users do not call it, but it must not crash if they do.
func TestBenchChild(t *testing.T) {
	clitest.Fail(t, cli.ExitUsage, []string{"bench", "child", "spy"}, "spy")
	for _, role := range []string{"server", "client", "kv-server", "kv-client"} {
		clitest.Succeed(t, "bench", "child", role) // Its input ends at once.
	}
}
