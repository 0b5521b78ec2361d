package kv

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// goldenRow is a row built from fixed samples: two runs, two processes.
func goldenRow(scheme string) Row {
	cfg := Config{
		Schemes: []string{"offload-cached", "redis"}, Clients: 2, InFlight: 4, Procs: 2, Repeat: 2, Duration: 2 * time.Second,
		InFlightOf: map[string]int{"redis": 16},
		ServerCPUs: []int{0}, ClientCPUs: []int{1}, Commit: "0123abc",
	}.withDefaults()
	run := func(ops int, util float64) *outcome {
		o := &outcome{clients: []ClientReady{{Info: bench.Info{Transport: "shm", Policy: scheme}}}}
		for range 2 {
			s := &Sample{Elapsed: 2 * time.Second, Latency: latencies(cfg.Workload.Mix), CPU: time.Second / 2}
			for i := range ops {
				s.Latency[ycsb.Read].Record(time.Duration(i+1) * time.Microsecond)
				s.Latency[ycsb.Update].Record(time.Duration(2*i+2) * time.Microsecond)
			}
			n := uint64(ops)
			s.Answers = Answers{Checked: int64(ops)}
			s.Counters = Counters{PointerHits: n / 2, PointerInvalid: n / 10}
			s.Counters.Counters = bench.Counters{
				Fast: n / 4, Offloaded: 3 * n / 4, Reads: 2 * n, RoundTrips: n, Bytes: 500 * n, Restarts: n / 10, TornReads: 3,
				AnswerReads: n / 2, AnswersMissed: n / 5, AnswerChanges: 1,
			}
			o.samples = append(o.samples, s)
		}
		o.before.Usage = harness.Usage{Cores: 1}
		o.after.Usage = harness.Usage{Cores: 1, Wall: 2 * time.Second, CPU: time.Duration(util * 2e9), Resident: 150e6}
		o.after.Index = Index{Items: 1000, Inserts: 2000, Kicks: 500, Stash: 1, StashMost: 3, Load: 0.75}
		if scheme == "redis" {
			o.server.Version, o.clients[0].Info.Transport, o.after.Index = "7.0.15", "unix", Index{}
			for _, s := range o.samples {
				s.Counters = Counters{}
			}
		}
		return o
	}
	return newRow(cfg, scheme, []*outcome{run(1000, 0.5), run(2000, 0.75)})
}

// golden compares with a file under testdata. To rewrite it on purpose, copy what
// the failure prints.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	want, err := os.ReadFile("testdata/" + file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s (%v): got\n%s\nwant\n%s", file, err, got, want)
	}
}

func TestRowJSON(t *testing.T) {
	var line, indented bytes.Buffer
	if err := json.NewEncoder(&line).Encode(goldenRow("offload-cached")); err != nil {
		t.Fatal(err)
	}
	if bytes.Count(line.Bytes(), []byte("\n")) != 1 {
		t.Errorf("%q is not one line", line.String())
	}
	if err := json.Indent(&indented, line.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "row.json", indented.Bytes())
}

func TestTable(t *testing.T) {
	rows := []Row{goldenRow("offload-cached"), goldenRow("redis")}
	rows[1].Runs = []float64{100, 200}
	var b bytes.Buffer
	if err := WriteTable(&b, rows); err != nil {
		t.Fatal(err)
	}
	b.WriteString("\n")
	if err := WriteRatios(&b, rows, []string{"redis", "memcached"}); err != nil {
		t.Fatal(err)
	}
	// One run has no standard error.
	rows[0].Runs, rows[1].Runs, rows[1].OpsPerS = []float64{1}, []float64{1}, 750
	if err := WriteRatios(&b, rows, []string{"redis"}); err != nil {
		t.Fatal(err)
	}
	golden(t, "table.txt", b.Bytes())
}

// TestTableOfSeveral: rows of several configurations have labels, and are compared with the first row of their mix
// and skew; or with the first of all where each has another.
func TestTableOfSeveral(t *testing.T) {
	row := func(label, mix, table string, theta, ops, us float64) (r Row) {
		r.Scheme, r.Label, r.Mix, r.Table, r.Dist, r.Theta, r.Items = "fast", label, mix, table, "zipf", theta, 1
		r.TopKey, r.Keys = topKey(1000, theta), 1000
		r.Runs, r.RunsMean = []float64{ops, 2 * ops}, []float64{us, us / 2}
		return r
	}
	table := func(rows ...Row) string {
		var b strings.Builder
		if err := WriteTable(&b, rows); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	got := table(row("A conventional", "A", "conventional", 0.99, 100, 40), row("A gcuckoo", "A", "gcuckoo", 0.99, 200, 20),
		row("B conventional", "B", "conventional", 0.99, 100, 60), row("B gcuckoo", "B", "gcuckoo", 0.99, 50, 90))
	for _, want := range []string{
		"YCSB mix A, B, zipf, 1000 keys", "key index: conventional, gcuckoo, items a bucket: 1",
		"\ntimes fast A conventional, within rounds (geometric mean +- standard error): fast A gcuckoo 2.00 +- 0.00\n",
		"\nmean latency, times fast A conventional, within rounds (geometric mean +- standard error): fast A gcuckoo 0.50 +- 0.00\n",
		"\nmean latency, times fast B conventional, within rounds (geometric mean +- standard error): fast B gcuckoo 1.50 +- 0.00\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	got = table(row("0.1", "B", "gcuckoo", 0.1, 100, 40), row("0.9", "B", "gcuckoo", 0.9, 80, 50))
	for _, want := range []string{
		"YCSB mix B, zipf 0.1, zipf 0.9, 1000 keys", "mean latency, times fast 0.1, within rounds (geometric mean +- standard error): fast 0.9 1.25",
		"\nzipf 0.1: the most popular key is drawn 1.8 times", "\nzipf 0.9: the most popular key is drawn ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestTopKey: the share is that of the sum of all weights.
func TestTopKey(t *testing.T) {
	for _, theta := range []float64{0, 0.1, 0.5, 0.99, 1, 1.5} {
		for _, n := range []uint64{1, 10, 1000, 1001, 100_000} {
			sum := 0.0
			for i := range n {
				sum += math.Pow(float64(i+1), -theta)
			}
			if got, want := topKey(n, theta), float64(n)/sum; math.Abs(got/want-1) > 1e-6 {
				t.Errorf("%d keys, theta %v: %v, want %v", n, theta, got, want)
			}
		}
	}
}

// columns are the JSON names of a struct and those embedded in it.
func columns(t reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for f := range t.Fields() {
		if f.Anonymous {
			for name, of := range columns(f.Type) {
				all[name] = of
			}
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		all[name] = f.Type
	}
	return all
}

// Programs that read rows of bench run can read these: shared columns have the
// same names and types.
func TestColumns(t *testing.T) {
	own := "version dist theta keys shards table items max_bytes hit_rate value_bytes largest_value_bytes pointer_hits pointer_invalid kicks_per_insert" +
		" stash_items stash_most load_factor fetch_bytes fetch_retries fetch_always server_posts_per_request cdf_us answers_checked answers_wrong" +
		" label sync pointers shared_pointers top_key_times_mean runs_mean_us server_resident_bytes"
	theirs := columns(reflect.TypeFor[bench.Row]())
	mine := columns(reflect.TypeFor[Row]())
	for name, of := range mine {
		if isOwn := strings.Contains(" "+own+" ", " "+name+" "); isOwn == (theirs[name] != nil) {
			t.Errorf("column %s: own %v, in bench.Row %v", name, isOwn, theirs[name])
		} else if !isOwn && theirs[name] != of {
			t.Errorf("column %s is %v, in bench.Row %v", name, of, theirs[name])
		}
	}
	// All figures of bench.Row exist here too.
	for name := range columns(reflect.TypeFor[bench.Figures]()) {
		if mine[name] == nil {
			t.Errorf("no column %s", name)
		}
	}
	// Every figure has a median and a spread.
	var f Figures
	if got, want := len(stats.Figures(&f)), len(columns(reflect.TypeFor[Figures]())); got != want {
		t.Errorf("%d figures are named, of %d", got, want)
	}
}
