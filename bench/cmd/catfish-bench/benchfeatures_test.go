package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/features"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

const featuresSource = "../../../datasets/testdata/andorra.osm.pbf"

// Invalid flags are refused before anything starts.
func TestBenchFeaturesFlags(t *testing.T) {
	for says, args := range map[string]string{
		"unknown work \"sleep\"":    "--work sleep",
		"listed twice":              "--work load,load",
		"unknown way \"pigeon\"":    "--way pigeon",
		"--features is empty or 0":  "--features 0",
		"features is -1":            "--features -1",
		"writes is 3, want 8":       "--writes 3",
		"areas is 200001":           "--areas 200001",
		"duration is 1ms":           "--duration 1ms",
		"--repeat is empty or 0":    "--repeat 0",
		"--server-cpus: bad list":   "--server-cpus x",
		"--tile38: exec: \"nowhere": "--tile38 nowhere",
	} {
		clitest.Fail(t, cli.ExitUsage, append([]string{"bench", "features", "--source", featuresSource, "--countries", featuresSource},
			strings.Fields(args)...), says, "--help' for usage.")
	}
	clitest.Fail(t, cli.ExitFailure, []string{"bench", "features", "--source", "nowhere.pbf"}, "nowhere.pbf", "--source and --countries")
}

// Every workload and path, small: consistent figures, the figures that each path must
// show, and no wrong answer.
func TestBenchFeatures(t *testing.T) {
	// About forty processes read the source; a smaller one is read sooner.
	small := filepath.Join(t.TempDir(), "small.geojsonl")
	lines := strings.SplitAfter(clitest.Succeed(t, "bench", "features", "data", "--source", featuresSource, "--features", "29000"), "\n")
	var some strings.Builder
	for i := 0; i < len(lines); i += 20 {
		some.WriteString(lines[i])
	}
	if err := os.WriteFile(small, []byte(some.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out := clitest.Succeed(t, "bench", "features", "--quick", "--source", small,
		"--countries", "../../../datasets/testdata/countries.geojson", "--dir", t.TempDir(), "--json", "-")
	rows := map[string]features.Row{}
	for l := range strings.Lines(out) {
		r := clitest.Decode[features.Row](t, l)
		rows[r.Work+" "+r.Way] = r
		if r.Wrong != 0 || r.Features != 3000 || r.Machine.Go == "" || r.Commit == "" {
			t.Errorf("%+v", r)
		}
		if r.Work != features.Memory && (r.OpsPerS <= 0 || r.Seconds <= 0 || len(r.Runs) != 1) {
			t.Errorf("%+v", r)
		}
	}
	want := map[string]float64{ // results
		"load process": 1, "load ring": 1, "load durable": 1,
		"search-1 ring": 1, "search-1 offload": 1, "search-1 default": 1, "search-1 tcp": 1, "search-1 grpc": 1, "search-1 echo": 1,
		"search-100 grpc": 100, "search-100 ring": 100, "search-100 offload": 100,
		"nearest grpc": 10, "nearest ring": 10, "upsert ring": 1, "upsert process": 1, "upsert disk": 1,
		"move ring": 1, "move process": 1, "restart process": 1, "country land": 1,
	}
	for name, results := range want {
		r, ok := rows[name]
		if !ok || r.Results < .9*results || r.Results > 1.1*results {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for _, name := range []string{"country globe", "geofences process"} {
		if rows[name].OpsPerS == 0 {
			t.Errorf("%s: %+v", name, rows[name])
		}
	}
	if len(rows) != len(want)+4 {
		t.Errorf("%d rows, want %d", len(rows), len(want)+4)
	}
	if r := rows["search-1 offload"]; r.Offloaded != 1 || r.Reads < 1 || r.Trips < 1.5 {
		t.Errorf("offload: %+v", r)
	}
	if r := rows["search-1 ring"]; r.Offloaded != 0 || r.Reads != 0 || r.Trips != 1 {
		t.Errorf("ring: %+v", r)
	}
	var own []int64
	for _, way := range []string{"process", "ring"} {
		m := rows["memory "+way].Memory
		if m == nil || m.Own <= 0 || m.Records < m.Own || m.Keys <= 0 || m.Tree <= 0 {
			t.Fatalf("memory, %s: %+v", way, m)
		}
		own = append(own, m.Own)
	}
	if own[0] != own[1] {
		t.Errorf("own bytes: %v", own)
	}
}

// The file is the same each time, and has the requested number of features.
func TestBenchFeaturesData(t *testing.T) {
	file := filepath.Join(t.TempDir(), "features.geojsonl")
	text := clitest.Succeed(t, "bench", "features", "data", "--source", featuresSource, "--features", "31000")
	if n := strings.Count(text, "\n"); n != 31000 {
		t.Errorf("%d lines", n)
	}
	clitest.Succeed(t, "bench", "features", "data", "--source", featuresSource, "--features", "31000", "--out", file)
	if b, err := os.ReadFile(file); err != nil || string(b) != text {
		t.Error("the file is another one", err)
	}
}
