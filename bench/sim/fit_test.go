package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench"
)

// A fit finds the costs that produced its goals.
func TestFitFindsCosts(t *testing.T) {
	w := small(t, "0.05") // 70 objects, so that their cost shows
	cl := openCluster(t, "thismachine")
	truth := map[string]float64{"server.request_ns": 1900, "server.result_ns": 70}
	for k, v := range truth {
		if err := cl.Set(k, v); err != nil {
			t.Fatal(err)
		}
	}
	narrow := small(t, "1e-5")
	run := func(ctx context.Context, cl *Cluster, w *Workload) (float64, error) {
		r, err := Run(ctx, Config{Cluster: cl, Scheme: "fast", Clients: 8,
			Duration: 5 * time.Millisecond, Warmup: time.Millisecond, Seed: 1}, w)
		if err != nil {
			return 0, err
		}
		return r.OpsPerS, nil
	}
	var goals []Goal
	for _, w := range []*Workload{w, narrow} {
		want, err := run(t.Context(), cl, w)
		if err != nil {
			t.Fatal(err)
		}
		goals = append(goals, Goal{Of: w.Spec.Scale, Want: want,
			Measure: func(ctx context.Context, cl *Cluster) (float64, error) { return run(ctx, cl, w) }})
	}
	guess := openCluster(t, "thismachine")
	guess.Server.RequestNs, guess.Server.ResultNs = 3000, 40
	f, err := Fit(t.Context(), guess, []string{"server.request_ns", "server.result_ns"}, goals, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range f.Keys {
		if got, _ := guess.Get(k); got != f.Values[i] || math.Abs(got/truth[k]-1) > 0.1 {
			t.Errorf("%s is %v, want %v", k, got, truth[k])
		}
	}
	var out bytes.Buffer
	if err := f.Write(&out); err != nil || !strings.Contains(out.String(), "server.request_ns = ") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestFitErrors(t *testing.T) {
	cl := openCluster(t, "thismachine")
	if _, err := Fit(t.Context(), cl, nil, nil, nil); !errors.Is(err, ErrFit) {
		t.Errorf("no goals: %v", err)
	}
	goal := []Goal{{Want: 1}}
	if _, err := Fit(t.Context(), cl, []string{"server.speed"}, goal, nil); !errors.Is(err, ErrCluster) {
		t.Errorf("unknown key: %v", err)
	}
	cl.Server.RequestNs = 0
	if _, err := Fit(t.Context(), cl, []string{"server.request_ns"}, goal, nil); !errors.Is(err, ErrFit) {
		t.Errorf("guess of 0: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Config{Cluster: openCluster(t, "paper"), Scheme: "fast", Clients: 1,
		Duration: time.Second}, small(t, "1e-5")); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestReadRows(t *testing.T) {
	const good = `{"scheme":"fast","dataset":"uniform","objects":1000,"scale":"1e-5","mix":"search=100",` +
		`"clients":8,"in_flight":16,"ops_per_s":1000,"server_cpu_util":0.9}`
	rows, err := ReadRows(strings.NewReader(good + "\n" + strings.Replace(good, "fast", "offload", 1)))
	if err != nil || len(rows) != 2 || rows[1].Scheme != "offload" || rows[0].CPUUtil != 0.9 {
		t.Errorf("%+v, %v", rows, err)
	}
	goals, keys, err := RowGoals(rows, openCluster(t, "thismachine"), new(Cache), time.Millisecond, func(string) {})
	if err != nil || len(goals) != 4 || !strings.Contains(strings.Join(keys, " "), "client.search_ns") {
		t.Errorf("%v, %v, %v", goals, keys, err)
	}
	for _, c := range []struct{ text, says string }{
		{"", "no rows"},
		{"{", "row 1"},
		{good + "\n{}", "row 2 has no scheme"},
		{strings.Replace(good, `"clients"`, `"simulated":true,"clients"`, 1), "is simulated"},
		{strings.Replace(good, ":1000,\"server", ":0,\"server", 1), "ops_per_s 0"},
	} {
		if _, err := ReadRows(strings.NewReader(c.text)); !errors.Is(err, ErrFit) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v\n  does not say %q", err, c.says)
		}
	}
	bad := []bench.Row{rows[0]}
	bad[0].Mix = "nearest=100"
	if _, _, err := RowGoals(bad, openCluster(t, "thismachine"), new(Cache), time.Millisecond, func(string) {}); !errors.Is(err, ErrFit) {
		t.Errorf("mix of nearest: %v", err)
	}
}

// All output of the simulator says that it is simulated.
func TestEverythingSaysSimulated(t *testing.T) {
	w := small(t, "1e-5")
	cl := openCluster(t, "paper")
	cfg := Config{Cluster: cl, Scheme: "paper", Clients: 4, Duration: time.Millisecond, Seed: 1}
	row := NewRow(cfg, w, simulate(t, cfg, w), "abc")
	var out bytes.Buffer
	if err := json.NewEncoder(&out).Encode(row); err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["simulated"] != true ||
		back["cluster"] != "paper" || back["ops_per_s"] == nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.Reset()
	if err := WriteRows(&out, cl, w, []Row{row}); err != nil || strings.Count(out.String(), "simulated") < 3 {
		t.Errorf("%v\n%s", err, out.String())
	}
}
