package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/longer"
)

var testSchemes = []string{"tcp", "fast", "offload"}

func quickConfig() Config {
	return Config{
		Schemes: []string{"fast", "offload"}, Objects: 100, Clients: 3,
		InFlight: 2, Procs: 2, Warmup: 20 * time.Millisecond,
		Duration: 200 * time.Millisecond, Transport: "shm", Commit: "abc",
	}
}

func runQuick(t *testing.T, cfg Config, fault string) ([]Row, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var told []Row
	rows, err := Run(ctx, cfg, fakeSpawn(fault), testSchemes,
		func(string) {}, func(r Row) { told = append(told, r) })
	if len(told) != len(rows) {
		t.Errorf("%d rows told, %d returned", len(told), len(rows))
	}
	return rows, err
}

// longQuick is runQuick with a duration in which every kind of run sees calls.
func longQuick(t *testing.T, cfg Config, fault string) (rows []Row) {
	t.Helper()
	longer.Measure(t, cfg.Duration, func(d time.Duration) error {
		cfg.Duration = d
		var err error
		if rows, err = runQuick(t, cfg, fault); err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			for op, share := range cfg.Mix {
				if name := opNames[op]; share > 0 && r.ByOp[name].Count == 0 {
					return fmt.Errorf("%s: no %s", r.Scheme, name)
				}
			}
			if slices.Min(r.Runs) <= 0 {
				return fmt.Errorf("%s: runs of %v calls/s", r.Scheme, r.Runs)
			}
		}
		return nil
	})
	return rows
}

func TestRun(t *testing.T) {
	cfg := quickConfig()
	cfg.Repeat = 2
	rows := longQuick(t, cfg, "")
	if len(rows) != 2 || rows[0].Scheme != "fast" || rows[1].Scheme != "offload" {
		t.Fatalf("rows %+v", rows)
	}
	for _, r := range rows {
		want := Figures{
			Offload: 0, Trips: 1, Reads: 0, Bytes: 100, Results: 3,
		}
		if r.Scheme == "offload" {
			want = Figures{Offload: 1, Trips: 2, Reads: 5, Bytes: 700, Results: 3}
		}
		for _, c := range []struct {
			name      string
			got, want float64
		}{
			{"offload", r.Offload, want.Offload}, {"trips", r.Trips, want.Trips},
			{"reads", r.Reads, want.Reads}, {"bytes", r.Bytes, want.Bytes},
			{"results", r.Results, want.Results},
		} {
			if math.Abs(c.got-c.want) > 1e-9 { // floating point
				t.Errorf("%s: %s is %v, want %v", r.Scheme, c.name, c.got, c.want)
			}
		}
		if r.OpsPerS <= 0 || r.P50Us > r.P99Us || r.P99Us > r.P999Us || r.MeanUs <= 0 {
			t.Errorf("%s: figures %+v", r.Scheme, r.Figures)
		}
		s := r.Spread["ops_per_s"]
		if s[0] > r.OpsPerS || s[1] < r.OpsPerS {
			t.Errorf("median %v outside its spread %v", r.OpsPerS, s)
		}
		if r.Transport != "shm" || r.NodeBytes != 1984 || r.Objects != 100 ||
			r.Simulated || r.Commit != "abc" || r.ByOp["search"].Count == 0 {
			t.Errorf("row %+v", r)
		}
	}
}

// A measurement in which no call ended continues until one has ended.
func TestMeasurementWaitsForFirstCall(t *testing.T) {
	cfg := quickConfig()
	cfg.Warmup, cfg.Duration, cfg.Mix = time.Millisecond, 20*time.Millisecond, Mix{Insert: 100}
	rows, err := runQuick(t, cfg, "late")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.OpsPerS <= 0 || r.ByOp["insert"].Count == 0 {
			t.Errorf("%+v", r)
		}
	}
}

func TestRunMixedOnTCP(t *testing.T) {
	cfg := quickConfig()
	cfg.Schemes = []string{"tcp"}
	cfg.Mix = Mix{Search: 60, Insert: 20, Delete: 10, Update: 10}
	rows := longQuick(t, cfg, "flicker") // Answers may change here.
	if rows[0].Transport != "tcp" || rows[0].ByOp["update"].Count == 0 {
		t.Errorf("row %+v", rows[0])
	}
}

func TestRunPinned(t *testing.T) {
	avail, err := affinity.Available()
	if err != nil {
		t.Fatal(err)
	}
	cfg := quickConfig()
	cfg.Schemes = []string{"fast"}
	cfg.ServerCPUs, cfg.ClientCPUs = avail[:1], avail[len(avail)-1:]
	rows, err := runQuick(t, cfg, "")
	if err != nil {
		t.Fatal(err)
	}
	if rows[0].ServerCPUs != avail[:1].String() {
		t.Errorf("server on %q, want %v", rows[0].ServerCPUs, avail[:1])
	}
}

// Whatever goes wrong in a child becomes an error that names it, and no child
// survives (goleak would find the goroutine that reads it).
func TestRunFaults(t *testing.T) {
	for _, c := range []struct {
		fault string
		is    error
		says  string
	}{
		{"load", child.ErrFailed, "no such data set"},
		{"dial", child.ErrFailed, "nobody there"},
		{"search", child.ErrFailed, "connection lost"},
		{"offload-misses", ErrResults, "offload found 512 objects"},
		{"panic-server", child.ErrFailed, "told to"},
		{"panic-client", child.ErrFailed, "told to"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			_, err := runQuick(t, quickConfig(), c.fault)
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v saying %q", err, c.is, c.says)
			}
		})
	}
}

func TestRunCancelled(t *testing.T) {
	cfg := quickConfig()
	cfg.Duration = time.Hour
	ctx, cancel := context.WithCancel(context.Background())
	began := time.Now()
	_, err := Run(ctx, cfg, fakeSpawn(""), testSchemes, func(note string) {
		if strings.Contains(note, "loading") {
			cancel()
		}
	}, func(Row) {})
	if !errors.Is(err, context.Canceled) || time.Since(began) > child.ExitTime {
		t.Errorf("cancelled: %v after %v", err, time.Since(began))
	}
}

func TestValidate(t *testing.T) {
	if err := (Config{Schemes: []string{"fast"}}).Validate(testSchemes); err != nil {
		t.Errorf("defaults: %v", err)
	}
	for says, change := range map[string]func(*Config){
		`"slow"`:                  func(c *Config) { c.Schemes = []string{"slow"} },
		"twice":                   func(c *Config) { c.Schemes = []string{"fast", "fast"} },
		`cannot run on transport`: func(c *Config) { c.Transport = "tcp" },
		"2e0":                     func(c *Config) { c.Scale = "2e0" },
		"objects is -1":           func(c *Config) { c.Objects = -1 },
		"clients is -1":           func(c *Config) { c.Clients = -1 },
		"batch is 1025":           func(c *Config) { c.Batch = 1025 },
		"in-flight is 5000":       func(c *Config) { c.InFlight = 5000 },
		"client-procs is 4":       func(c *Config) { c.Procs = 4 },
		"repeat is -2":            func(c *Config) { c.Repeat = -2 },
		"1ms":                     func(c *Config) { c.Duration = time.Millisecond },
		"-1s":                     func(c *Config) { c.Warmup = -time.Second },
		"server-cpus":             func(c *Config) { c.ServerCPUs = affinity.Set{affinity.MaxCPU} },
		"client-cpus":             func(c *Config) { c.ClientCPUs = affinity.Set{affinity.MaxCPU} },
		"Strategy is 3":           func(c *Config) { c.Strategy = 3 },
		"N is -1, want 1 to":      func(c *Config) { c.Backoff.N = -1 },
		"T is 2, want":            func(c *Config) { c.Backoff.T = 2 },
		`predictor "guess"`:       func(c *Config) { c.Backoff.Predictor = "guess" },
		"want 1 to 1024": func(c *Config) {
			c.WorkerPerConnection, c.Clients = true, 1025
		},
	} {
		cfg := quickConfig()
		change(&cfg)
		_, err := runQuick(t, cfg, "")
		if !errors.Is(err, harness.ErrConfig) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want harness.ErrConfig saying %q", err, says)
		}
	}
}

func TestClientsAreDealtEvenly(t *testing.T) {
	cfg := Config{Clients: 8, Procs: 3}.withDefaults()
	var got []int
	for i := range cfg.Procs {
		got = append(got, cfg.clientJob("fast", i, ServerReady{}).Clients)
	}
	if !slices.Equal(got, []int{3, 3, 2}) {
		t.Errorf("dealt %v", got)
	}
}

// TestRunServers: runs that only read share a server, others have fresh ones.
func TestRunServers(t *testing.T) {
	for name, c := range map[string]struct {
		mix  Mix
		want int
	}{
		"searches": {SearchOnly, 1},
		"inserts":  {Mix{Search: 90, Insert: 10}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := quickConfig()
			cfg.Mix, cfg.Repeat, cfg.Duration = c.mix, 2, 20*time.Millisecond
			spawn, servers := fakeSpawn("flicker"), 0
			if c.mix.ReadOnly() {
				spawn = fakeSpawn("")
			}
			rows, err := Run(t.Context(), cfg, func(role child.Role, cpus affinity.Set) *exec.Cmd {
				servers += btoi(role == ServerRole)
				return spawn(role, cpus)
			}, testSchemes, func(string) {}, func(Row) {})
			if err != nil || len(rows) != 2 || servers != c.want {
				t.Errorf("%d rows, %v; %d servers for 4 runs, want %d", len(rows), err, servers, c.want)
			}
		})
	}
}

// TestServerJob: with a thread for each connection GOMAXPROCS exceeds the number of
// connections.
func TestServerJob(t *testing.T) {
	cfg := Config{Clients: 100}.withDefaults()
	if job := cfg.serverJob(); job.WorkerPerConnection || job.MaxProcs != 0 {
		t.Errorf("%+v", job)
	}
	cfg.WorkerPerConnection = true
	if job := cfg.serverJob(); !job.WorkerPerConnection || job.MaxProcs <= 100 {
		t.Errorf("worker per connection: %+v", job)
	}
}

// A child ends when its parent does, at whatever stage.
func TestChildrenEndWithTheirInput(t *testing.T) {
	job, err := json.Marshal(testJob(SearchOnly))
	if err != nil {
		t.Fatal(err)
	}
	dial := func(_ context.Context, job ClientJob) (Conn, error) {
		return newFakeConn(job, ""), nil
	}
	for _, in := range []string{"", string(job) + "\n"} {
		var out bytes.Buffer
		if err := ClientMain(context.Background(), strings.NewReader(in), &out, dial); err != nil {
			t.Errorf("client with input %q: %v", in, err)
		}
	}
	started := false
	start := func(_ context.Context, job ServerJob, _ func(string)) (Server, error) {
		started = true
		return fakeServer{job}, nil
	}
	var out bytes.Buffer
	err = ServerMain(context.Background(), strings.NewReader("{\"objects\":3}\n{\"usage\":true}\n"), &out, start)
	if err != nil || !started || !strings.Contains(out.String(), `"cpu_ns"`) {
		t.Errorf("server: %v, wrote %q", err, out.String())
	}
	for _, in := range []string{"{\n", "[]\n"} {
		out.Reset()
		err := ServerMain(context.Background(), strings.NewReader(in), &out, start)
		if err == nil || !strings.Contains(out.String(), "line from the parent") {
			t.Errorf("input %q: %v, wrote %q", in, err, out.String())
		}
	}
}
