package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

func TestBenchStep(t *testing.T) {
	dir := t.TempDir()
	args := strings.Fields("bench step --dataset california --scale 1e-2 --scheme fast,cost --clients 2 --transport shm" +
		" --rest 5ms --at 200ms --duration 600ms --sample 50ms --json " + dir + "/rows.jsonl --plots " + dir)
	out := clitest.Succeed(t, args...)
	for _, want := range []string{"before", "fast ", "cost "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "rows.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	for _, scheme := range []string{"fast", "cost"} {
		var r bench.StepRow
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if r.Scheme != scheme || r.Objects != 21693 || r.Transport != "shm" || len(r.Series) != 12 || r.Simulated {
			t.Errorf("row %+v", r)
		}
	}
	for _, name := range []string{"step-throughput.svg", "step-offload-share.svg", "step-latency.svg"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || strings.Contains(string(b), "simulated") {
			t.Errorf("%s: %v, %d bytes", name, err, len(b))
		}
	}
	clitest.Fail(t, cli.ExitUsage, strings.Fields("bench step --at 5s --duration 4s"), "a step at 5s")
	clitest.Fail(t, cli.ExitUsage, strings.Fields("bench step --scheme fst"), `unknown policy "fst"`)
}
