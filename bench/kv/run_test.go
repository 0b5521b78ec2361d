package kv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/longer"
	"github.com/catfish-index/catfish/internal/ycsb"
)

var testSchemes = []string{"tcp", "fast", "offload", "piped"}

func quickConfig(t *testing.T, mix string) Config {
	t.Helper()
	w, err := Workload(mix, "")
	if err != nil {
		t.Fatal(err)
	}
	w.Keys, w.ValueBytes, w.Seed = 3000, 40, 7
	return Config{
		Schemes: []string{"fast", "offload"}, Workload: w, Clients: 3, InFlight: 4, Procs: 2,
		Warmup: 20 * time.Millisecond, Duration: 200 * time.Millisecond, Transport: "shm", Commit: "abc",
	}
}

func runQuick(t *testing.T, cfg Config, fault string) ([]Row, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var told []Row
	rows, err := Run(ctx, []Config{cfg}, fakeSpawn(fault), testSchemes, func(string) {}, func(r Row) { told = append(told, r) })
	if !reflect.DeepEqual(told, rows) {
		t.Errorf("%d rows told, %d returned", len(told), len(rows))
	}
	return rows, err
}

// longQuick is runQuick with a duration in which every scheme sees operations
// of each of these kinds.
func longQuick(t *testing.T, cfg Config, kinds ...string) (rows []Row) {
	t.Helper()
	longer.Measure(t, cfg.Duration, func(d time.Duration) error {
		cfg.Duration = d
		var err error
		if rows, err = runQuick(t, cfg, ""); err != nil || len(rows) != len(cfg.Schemes) {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		for _, r := range rows {
			for _, k := range kinds {
				if r.ByOp[k].Count == 0 {
					return fmt.Errorf("%s: no %s", r.Scheme, k)
				}
			}
			if slices.Min(r.Runs) <= 0 || r.CPUUtil <= 0 || r.ClientUtil <= 0 {
				return fmt.Errorf("%s: runs of %v operations/s by %v and %v cores", r.Scheme, r.Runs, r.CPUUtil, r.ClientUtil)
			}
		}
		return nil
	})
	return rows
}

// Every mix, by every kind of Store; and rows survive JSON.
func TestRun(t *testing.T) {
	for mix, kinds := range map[string][]string{
		"A": {"read", "update"}, "B": {"read", "update"}, "C": {"read"}, "D": {"read", "insert"}, "F": {"read", "rmw"},
	} {
		t.Run(mix, func(t *testing.T) {
			cfg := quickConfig(t, mix)
			cfg.Schemes, cfg.InFlightOf = []string{"fast", "offload", "piped"}, map[string]int{"piped": 8}
			if cfg.Repeat = 1; mix == "A" {
				cfg.Repeat = 2
			}
			rows := longQuick(t, cfg, kinds...)
			for i, r := range rows {
				if r.Scheme != cfg.Schemes[i] || r.Transport != "shm" || r.Device != "a wire" || r.Version != "1.2" || r.Mix != mix ||
					r.Keys != 3000 || r.ValueBytes != 40 || r.Seed != 7 || r.Theta != ycsb.Theta || (r.Dist == "latest") != (mix == "D") ||
					len(r.Runs) != cfg.Repeat || r.Commit != "abc" || r.InFlight != map[bool]int{false: 4, true: 8}[r.Scheme == "piped"] {
					t.Errorf("%+v", r)
				}
				if len(r.ByOp) != len(kinds) || r.OpsPerS <= 0 || r.P50Us > r.P99Us || r.Checked == 0 || r.Wrong != 0 || r.Results != 1 {
					t.Errorf("%+v", r)
				}
				// 3000 keys, and those tried and inserted.
				if r.LoadFactor <= 0 || r.LoadFactor > 1 || cfg.Repeat > 1 && r.Spread["load_factor"][1] < r.LoadFactor {
					t.Errorf("load factor %v, %v", r.LoadFactor, r.Spread)
				}
				var b bytes.Buffer
				var again Row
				if err := json.NewEncoder(&b).Encode(r); err != nil || json.Unmarshal(b.Bytes(), &again) != nil || !reflect.DeepEqual(r, again) {
					t.Errorf("%v: %s", err, b.Bytes())
				}
			}
			if f, o := rows[0], rows[1]; f.Offload != 0 || f.Trips != 1 || f.PointerHits != 0 || o.Offload != 1 || o.Trips != 2 || o.Reads != 3 ||
				o.PointerHits != 1 || o.PointerInvalid != 2 {
				t.Errorf("fast %+v, offload %+v", f.Figures, o.Figures)
			}
		})
	}
}

// TestRunSeveral: each scheme of each configuration has a row, in the same rounds; what is listed twice is refused.
func TestRunSeveral(t *testing.T) {
	cfg := quickConfig(t, "A")
	cfg.Schemes, cfg.Repeat, cfg.Duration = []string{"fast", "piped"}, 2, 20*time.Millisecond
	cfgs, err := cfg.Vary([]string{"A", "D"}, "", []float64{0.5, 0.9}, []cuckoo.Kind{cuckoo.Conventional})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	rows, err := Run(t.Context(), cfgs, fakeSpawn(""), testSchemes, func(s string) {
		if name, _, ok := strings.Cut(s, ": run "); ok {
			order = append(order, name)
		}
	}, func(Row) {})
	if err != nil || len(rows) != 8 || len(order) != 16 {
		t.Fatalf("%d rows, %q, %v", len(rows), order, err)
	}
	for i, want := range []string{"A 0.5", "A 0.9", "D 0.5", "D 0.9"} {
		for j, scheme := range cfg.Schemes {
			r := rows[2*i+j]
			if r.Scheme != scheme || r.Label != want || fmt.Sprint(r.Mix, " ", r.Theta) != want || r.Table != "conventional" || r.Keys != 3000 ||
				(r.Dist == "latest") != (r.Mix == "D") || (r.TopKey > 0) != (r.Mix == "A") || len(r.Runs) != 2 || len(r.RunsMean) != 2 {
				t.Errorf("%+v", r)
			}
		}
	}
	// The last round is in the order of the rows.
	if got := strings.Join(order[8:10], ","); got != "fast A 0.5,piped A 0.5" {
		t.Errorf("%q", order)
	}
	for _, bad := range [][]Config{nil, {cfg, cfg}} {
		if _, err := Run(t.Context(), bad, fakeSpawn(""), testSchemes, func(string) {}, func(Row) {}); !errors.Is(err, harness.ErrConfig) {
			t.Errorf("%d configurations: %v", len(bad), err)
		}
	}
	cfg.Sync = "sometimes"
	if err := cfg.Validate(testSchemes); !errors.Is(err, harness.ErrConfig) {
		t.Error(err)
	}
}

// With a batch reads share a call, and each key counts as one.
func TestRunBatch(t *testing.T) {
	cfg := quickConfig(t, "B")
	cfg.Batch, cfg.InFlight, cfg.Schemes = 16, 1, []string{"fast", "piped"}
	for _, r := range longQuick(t, cfg, "read", "update") {
		if r.Batch != 16 || r.ByOp["read"].Count%16 != 0 {
			t.Errorf("%+v", r)
		}
	}
	cfg.InFlight = 2
	if _, err := runQuick(t, cfg, ""); !errors.Is(err, child.ErrFailed) || !strings.Contains(err.Error(), "batch is 16 and in-flight 2: piped") {
		t.Errorf("batches of a Pipeliner: %v", err)
	}
}

func TestRunPinned(t *testing.T) {
	avail, err := affinity.Available()
	if err != nil {
		t.Fatal(err)
	}
	cfg := quickConfig(t, "C")
	cfg.Schemes = []string{"fast"}
	cfg.ServerCPUs, cfg.ClientCPUs = avail[:1], avail[len(avail)-1:]
	if rows := longQuick(t, cfg); rows[0].ServerCPUs != avail[:1].String() {
		t.Errorf("%+v", rows)
	}
}

// All kinds of wrong answers are detected, counted in the row of their scheme,
// and make the run fail.
func TestWrongAnswers(t *testing.T) {
	for _, c := range []struct {
		fault, scheme string
		batch         int
		says          string
	}{
		{"lost", "fast", 1, "it is lost"}, {"lost", "piped", 1, "it is lost"}, {"lost", "fast", 4, "it is lost"},
		{"torn", "fast", 1, "check sum"}, {"torn", "piped", 1, "check sum"}, {"torn", "fast", 4, "check sum"},
		{"stale", "fast", 1, "was seen"}, {"stale", "piped", 1, "was seen"}, {"stale", "fast", 4, "was seen"},
	} {
		t.Run(fmt.Sprintf("%s/%s/%d", c.fault, c.scheme, c.batch), func(t *testing.T) {
			cfg := quickConfig(t, "A")
			cfg.Schemes, cfg.Batch, cfg.Procs = []string{c.scheme}, c.batch, 1
			var rows []Row
			longer.Measure(t, cfg.Duration, func(d time.Duration) error {
				cfg.Duration = d
				var err error
				rows, err = runQuick(t, cfg, c.fault)
				if !errors.Is(err, ErrWrong) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "scheme "+c.scheme) {
					return fmt.Errorf("%v, want ErrWrong saying %q", err, c.says)
				}
				return nil
			})
			if len(rows) != 1 || rows[0].Wrong == 0 || rows[0].Wrong >= rows[0].Checked || rows[0].Results >= 1 {
				t.Errorf("rows %+v", rows)
			}
		})
	}
}

// Whatever goes wrong in a child becomes an error that names it, and no child
// survives (goleak would find the goroutine that reads it).
func TestRunFaults(t *testing.T) {
	for fault, says := range map[string]string{
		"start": "no memory", "dial": "nobody there", "get": "connection lost", "undeleted": "was deleted",
		"panic-kv-server": "told to", "panic-kv-client": "told to",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			_, err := runQuick(t, quickConfig(t, "A"), fault)
			if !errors.Is(err, child.ErrFailed) || !strings.Contains(err.Error(), says) {
				t.Errorf("got %v, want ErrFailed saying %q", err, says)
			}
		})
	}
}

func TestRunCancelled(t *testing.T) {
	cfg := quickConfig(t, "A")
	cfg.Duration = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := Run(ctx, []Config{cfg}, fakeSpawn(""), testSchemes, func(note string) {
		if strings.Contains(note, "loading") {
			cancel()
		}
	}, func(Row) {})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A child ends when its parent does, at whatever stage.
func TestChildrenEndWithTheirInput(t *testing.T) {
	srv, err := startFake()
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	cfg := quickConfig(t, "A").withDefaults()
	job, err := json.Marshal(cfg.clientJob("fast", 0, ServerReady{Addr: srv.Addr()}))
	if err != nil {
		t.Fatal(err)
	}
	dial := func(_ context.Context, job ClientJob) (Store, error) { return dialFake(job, "") }
	for _, in := range []string{"", string(job) + "\n", string(job) + "\n{\"go\":true}\n"} {
		var out bytes.Buffer
		if err := ClientMain(t.Context(), strings.NewReader(in), &out, dial); err != nil {
			t.Errorf("client with input %q: %v", in, err)
		}
	}
	for _, in := range []string{"{\n", "[]\n", "{}\n"} {
		var out bytes.Buffer
		if err := ClientMain(t.Context(), strings.NewReader(in), &out, dial); err == nil || !strings.Contains(out.String(), `"error"`) {
			t.Errorf("client with input %q: %v, wrote %q", in, err, out.String())
		}
	}
	start := func(context.Context, ServerJob, func(string)) (Server, error) { return startFake() }
	var out bytes.Buffer
	if err := ServerMain(t.Context(), strings.NewReader("{}\n{\"ask\":true}\n"), &out, start); err != nil || !strings.Contains(out.String(), `"load_factor"`) {
		t.Errorf("server: %v, wrote %q", err, out.String())
	}
}

func TestValidate(t *testing.T) {
	if err := (Config{Schemes: []string{"fast"}}).Validate(testSchemes); err != nil {
		t.Errorf("defaults: %v", err)
	}
	for says, change := range map[string]func(*Config){
		`"slow"`:                    func(c *Config) { c.Schemes = []string{"slow"} },
		"twice":                     func(c *Config) { c.Schemes = []string{"fast", "fast"} },
		"cannot run on transport":   func(c *Config) { c.Transport = "tcp" },
		"mix E scans":               func(c *Config) { c.Workload.Mix = ycsb.MixE },
		"add up to 99":              func(c *Config) { c.Workload.Mix = ycsb.Mix{ycsb.Read: 99} },
		"values of -1":              func(c *Config) { c.Workload.ValueBytes = -1 },
		"value-bytes is 2097152":    func(c *Config) { c.Workload.ValueBytes = 2 << 20 },
		"clients is -1":             func(c *Config) { c.Clients = -1 },
		"in-flight of fast is 5000": func(c *Config) { c.InFlight = 5000 },
		"in-flight of fast is -1":   func(c *Config) { c.InFlightOf = map[string]int{"fast": -1} },
		"batch is 1025":             func(c *Config) { c.Batch = 1025 },
		"keeps references":          func(c *Config) { c.SharedPointers = "f" },
		"client-procs is 4":         func(c *Config) { c.Procs = 4 },
		"repeat is -2":              func(c *Config) { c.Repeat = -2 },
		"1ms":                       func(c *Config) { c.Duration = time.Millisecond },
		"-1s":                       func(c *Config) { c.Warmup = -time.Second },
		"server-cpus":               func(c *Config) { c.ServerCPUs = affinity.Set{affinity.MaxCPU} },
	} {
		cfg := quickConfig(t, "A")
		change(&cfg)
		_, err := runQuick(t, cfg, "")
		if !errors.Is(err, harness.ErrConfig) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want ErrConfig saying %q", err, says)
		}
	}
	for _, c := range [][2]string{{"G", ""}, {"A", "pareto"}} {
		if _, err := Workload(c[0], c[1]); !errors.Is(err, harness.ErrConfig) {
			t.Errorf("%q: %v", c, err)
		}
	}
	for i, letter := range "abcdef" {
		w, err := Workload("hydra-"+string(letter), "")
		gets, dist := [3]int{50, 90, 100}[i%3], ycsb.Zipfian
		if i > 2 {
			dist = ycsb.Uniform
		}
		if err != nil || w.Mix[ycsb.Read] != gets || w.Mix[ycsb.Read]+w.Mix[ycsb.Update] != 100 || w.Dist != dist || w.Theta != ycsb.Theta {
			t.Errorf("hydra-%c: %+v, %v", letter, w, err)
		}
		if same, err := Workload("hydra-"+string(letter), dist.String()); err != nil || same != w {
			t.Errorf("hydra-%c, %v: %+v, %v", letter, dist, same, err)
		}
	}
	for _, c := range [][2]string{{"hydra-", ""}, {"hydra-g", ""}, {"hydra-ab", ""}, {"hydra-a", "uniform"}} {
		if _, err := Workload(c[0], c[1]); !errors.Is(err, harness.ErrConfig) {
			t.Errorf("%q: %v", c, err)
		}
	}
	if w, err := Workload("D", "uniform"); err != nil || w.Dist != ycsb.Uniform {
		t.Errorf("D, uniform: %+v, %v", w, err)
	}
}

// All keys and clients are distributed, none twice; only tcp has a transport
// of its own, only polling schemes a server that polls.
func TestJobs(t *testing.T) {
	for procs := 1; procs <= 7; procs++ {
		cfg := Config{Clients: 9, Procs: procs, Workload: ycsb.Config{Mix: ycsb.MixC, Keys: 10}}.withDefaults()
		keys, clients := uint64(0), 0
		for i := range procs {
			job := cfg.clientJob("fast", i, ServerReady{Addr: "x"})
			if job.LoadFrom != keys || job.FirstClient != clients || job.Clients < 1 || job.Addr != "x" {
				t.Errorf("process %d of %d: %+v", i, procs, job)
			}
			keys, clients = job.LoadTo, clients+job.Clients
		}
		if keys != 10 || clients != 9 {
			t.Errorf("%d processes: %d keys, %d clients", procs, keys, clients)
		}
	}
	cfg := Config{Transport: "soft", SharedPointers: "f"}.withDefaults()
	for scheme, want := range map[string]string{"fast": "", "offload": "", "offload-cached": "f", "cost": "f", Literal: ""} {
		if got := cfg.clientJob(scheme, 0, ServerReady{}).SharedPointers; got != want {
			t.Errorf("%s shares pointers by %q, want %q", scheme, got, want)
		}
	}
	for scheme, want := range map[string]ServerJob{
		"tcp": {Transport: "tcp"}, "fast": {Transport: "soft"}, "fast-polling": {Transport: "soft"},
	} {
		want.Scheme, want.Keys, want.ValueBytes = scheme, 1_000_000, 32
		if got := cfg.serverJob(scheme); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}
