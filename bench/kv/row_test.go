package kv

import (
	"bytes"
	"encoding/json"
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
		o.after.Usage = harness.Usage{Cores: 1, Wall: 2 * time.Second, CPU: time.Duration(util * 2e9)}
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
		" stash_items stash_most load_factor fetch_bytes fetch_retries fetch_always server_posts_per_request cdf_us answers_checked answers_wrong"
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
