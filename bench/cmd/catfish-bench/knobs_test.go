package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/paper"
	"github.com/catfish-index/catfish/bench/replay"
	"github.com/catfish-index/catfish/bench/sim"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/rstar"
)

// TestAsPaper: the preset is in the rows, the output says what it has and lacks, and
// flags that it sets are refused.
func TestAsPaper(t *testing.T) {
	dir := t.TempDir()
	line := "bench paper --as-paper --figure 14 --network host --objects 5000 --requests 20 --clients 2 --json --out " + dir
	code, out, said := clitest.Program(t, strings.Fields(line)...)
	if code != cli.ExitOK {
		t.Fatal(said)
	}
	for _, part := range append(slices.Clone(paper.PresetHas), paper.PresetLacks...) {
		if !strings.Contains(said, part) {
			t.Errorf("does not say %q:\n%s", part, said)
		}
	}
	schemes := func(out string, check func(line string) string) (got []string) {
		for l := range strings.Lines(out) {
			got = append(got, check(l))
		}
		return got
	}
	got := schemes(out, func(l string) string {
		r := clitest.Decode[bench.Row](t, l)
		if r.Strategy != rstar.OriginalDoubles || !r.Inserted || r.Scheme != "tcp" && !r.WorkerPerConnection {
			t.Errorf("%+v", r)
		}
		return r.Scheme
	})
	if !slices.Equal(got, []string{"tcp", "farm", "offload-single", "paper-literal"}) {
		t.Errorf("measured %q", got)
	}
	if points := slurp(t, dir, "points.jsonl"); !strings.Contains(points, `"key":"rea02/rea02/host/shm/2/paper"`) || !strings.Contains(points, `"as_paper":true`) {
		t.Errorf("the points are %s", points)
	}
	clitest.Fail(t, cli.ExitFailure, strings.Fields(strings.Replace(line, "--as-paper", "", 1)), "as_paper true, here false")
	out = clitest.Succeed(t, strings.Fields("bench sim --as-paper --cluster thismachine --objects 2000 --clients 2 --duration 2ms --warmup 1ms --json -")...)
	if got := schemes(out, func(l string) string {
		r := clitest.Decode[sim.Row](t, l)
		if r.Strategy != rstar.OriginalDoubles || !r.Inserted {
			t.Errorf("%+v", r)
		}
		return r.Scheme
	}); !slices.Equal(got, paper.PresetSchemes()) {
		t.Errorf("simulated %q", got)
	}
	for _, bad := range []string{"bench paper --as-paper --strategy original", "bench paper --as-paper --series fast", "bench sim --as-paper --scheme fast", "bench sim --as-paper --table"} {
		clitest.Fail(t, cli.ExitUsage, strings.Fields(bad), "--as-paper")
	}
}

// TestKnobs: the flags of the tree and of Algorithm 1 are in the rows of each
// benchmark, and in its output.
func TestKnobs(t *testing.T) {
	want := policy.Backoff{N: 4, T: 0.9, Predictor: policy.Mean}
	said := []string{"original R*-tree, objects inserted one by one", "N = 4, T = 90 %, predictor mean"}
	const knobs = " --strategy original --insert --backoff-n 4 --threshold 0.9 --predictor mean --scheme paper --objects 2000 --clients 2"
	args := func(s string) []string { return strings.Fields(s + knobs) }
	says := func(out string) {
		t.Helper()
		for _, s := range said {
			if !strings.Contains(out, s) {
				t.Errorf("does not say %q:\n%s", s, out)
			}
		}
	}
	code, out, table := clitest.Program(t, args("bench run --duration 50ms --warmup 10ms --transport shm --json -")...)
	if code != cli.ExitOK {
		t.Fatal(table)
	}
	says(table)
	if r := clitest.Decode[bench.Row](t, out); r.Strategy != rstar.Original || !r.Inserted || r.Backoff != want {
		t.Errorf("run: %+v", r)
	}
	code, out, table = clitest.Program(t, args("bench step --duration 200ms --at 100ms --sample 50ms --transport shm --json -")...)
	if code != cli.ExitOK {
		t.Fatal(table)
	}
	says(table)
	if r := clitest.Decode[bench.StepRow](t, out); r.Strategy != rstar.Original || !r.Inserted || r.Backoff != want {
		t.Errorf("step: %+v", r)
	}
	code, out, table = clitest.Program(t, args("bench sim --cluster thismachine --duration 2ms --warmup 1ms --json -")...)
	if code != cli.ExitOK {
		t.Fatal(table)
	}
	says(table)
	if r := clitest.Decode[sim.Row](t, out); r.Strategy != rstar.Original || !r.Inserted || r.Backoff != want {
		t.Errorf("sim: %+v", r)
	}
	line := strings.Replace(knobs, "--insert", "", 1) + " --data uniform --queries 1e-2 --query-count 50 --transport shm --json -"
	code, out, table = clitest.Program(t, strings.Fields("replay "+line)...)
	if code != cli.ExitOK {
		t.Fatal(table)
	}
	if r := clitest.Decode[replay.Row](t, out); r.Strategy != rstar.Original || r.LoadedBy != "insert" || r.Backoff != want {
		t.Errorf("replay: %+v", r)
	}
}

// TestBenchPaperKnobs: points of another tree are refused, and the report names
// its tree.
func TestBenchPaperKnobs(t *testing.T) {
	out := filepath.Join(t.TempDir(), "report")
	args := strings.Fields("bench paper --figure 8 --network host --clients 1 --objects 2000 --requests 20 --out " + out)
	knobs := strings.Fields("--strategy original --insert --threshold 0.9")
	clitest.Succeed(t, append(args, knobs...)...)
	text := clitest.ReadFile(t, filepath.Join(out, "report.md"))
	for _, s := range []string{"original R*-tree, objects inserted one by one", "N = 8, T = 90 %, predictor latest"} {
		if !strings.Contains(text, s) {
			t.Errorf("the report does not say %q", s)
		}
	}
	clitest.Fail(t, cli.ExitFailure, args, `strategy "original", here "revised"`, "inserted true, here false", `"t":0.9`)
}
