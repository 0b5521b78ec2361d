package sim

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// thismachine.toml explains the measured runs that it was fitted to, and
// its predictions of the others are those of docs/research/paper-simulated.md.
func TestThisMachine(t *testing.T) {
	cl := openCluster(t, "thismachine")
	cache := new(Cache)
	var out bytes.Buffer
	check := func(name string, duration time.Duration) (far []Checked) {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		rows, err := ReadRows(f)
		if err != nil {
			t.Fatal(err)
		}
		goals, _, err := RowGoals(rows, cl, cache, duration, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		all, err := Check(t.Context(), cl, goals)
		if err != nil {
			t.Fatal(err)
		}
		out.Reset()
		if err := WriteChecked(&out, cl, all); err != nil || !strings.HasPrefix(out.String(), "Simulated") {
			t.Errorf("%v\n%s", err, out.String())
		}
		for _, c := range all {
			if c.Far() {
				far = append(far, c)
			}
		}
		return far
	}
	if far := check("testdata/thismachine-fit.jsonl", 20*time.Millisecond); len(far) > 0 {
		t.Errorf("fitted, and off: %+v", far)
	}
	// The duration that the command simulates.
	if far := check("testdata/thismachine-check.jsonl", 200*time.Millisecond); len(far) > 1 {
		t.Errorf("predicted, and off: %+v", far)
	}
	page, err := os.ReadFile("../../docs/research/paper-simulated.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "<!-- bench sim --check -->\n" + out.String() + "<!-- bench sim --check: end -->\n"; !strings.Contains(string(page), want) {
		t.Errorf("docs/research/paper-simulated.md lacks what 'catfish bench sim --cluster thismachine --check bench/sim/testdata/thismachine-check.jsonl' prints:\n%s", want)
	}
}

// TestMedians: rows of one set-up count once.
func TestMedians(t *testing.T) {
	rows, err := ReadRows(strings.NewReader(`
{"scheme":"fast","scale":"1e-5","clients":8,"in_flight":16,"objects":9,"ops_per_s":10,"server_cpu_util":0.9,"seed":1}
{"scheme":"tcp","scale":"1e-5","clients":8,"in_flight":16,"objects":9,"ops_per_s":5,"seed":1}
{"scheme":"fast","scale":"1e-5","clients":8,"in_flight":16,"objects":9,"ops_per_s":90,"server_cpu_util":0.1,"seed":2}
{"scheme":"fast","scale":"1e-5","clients":8,"in_flight":16,"objects":9,"ops_per_s":20,"server_cpu_util":0.8,"seed":3}
{"scheme":"fast","scale":"1e-2","clients":8,"in_flight":16,"objects":9,"ops_per_s":4,"seed":1}
{"scheme":"fast","scale":"1e-2","clients":8,"in_flight":16,"objects":9,"ops_per_s":6,"seed":2}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 || rows[0].OpsPerS != 20 || rows[0].CPUUtil != 0.8 || rows[0].Seed != 1 ||
		rows[1].Scheme != "tcp" || rows[2].OpsPerS != 5 {
		t.Errorf("%+v", rows)
	}
}
