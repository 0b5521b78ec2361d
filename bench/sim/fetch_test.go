package sim

import (
	"math"
	"reflect"
	"testing"
	"time"
)

// fetchRun runs a scheme; with scheme fetch all answers that are not late are
// fetched.
func fetchRun(t *testing.T, cl *Cluster, scheme, scale string, clients, inserts int) *Result {
	t.Helper()
	r := simulate(t, Config{Cluster: cl, Scheme: scheme, Clients: clients, Mix: [2]int{100 - inserts, inserts}, FetchAll: true,
		Duration: 5 * time.Millisecond, Warmup: 2 * time.Millisecond}, small(t, scale))
	r.Took = 0
	return r
}

// Equal runs are equal, and no call is lost or counts twice, whether answers
// are fetched or written.
func TestFetchObeysLittlesLaw(t *testing.T) {
	for _, request := range []float64{500, 5e3, 50e3} {
		for _, inserts := range []int{0, 10} {
			cl := openCluster(t, "connectx3")
			cl.Server.RequestNs = request
			r := fetchRun(t, cl, "fetch", "1e-2", 40, inserts)
			if got := r.OpsPerS * (r.MeanUs + cl.Client.ThinkNs/1e3) * 1e-6; math.Abs(got/40-1) > 0.03 {
				t.Errorf("%v ns, %d %% inserts: Little's law gives %.2f of 40 clients", request, inserts, got)
			}
			if again := fetchRun(t, cl, "fetch", "1e-2", 40, inserts); !reflect.DeepEqual(r, again) {
				t.Errorf("two runs differ:\n%+v\n%+v", r, again)
			}
			// If the server is slow, every second call is late, and the others are written.
			if request == 50e3 && (r.Reads > 3.5 || r.Written < 0.95) || request == 500 && (r.Reads < 1 || r.Trips < 2) {
				t.Errorf("%v ns, %d %% inserts: %.2f reads a search, %.2f trips", request, inserts, r.Reads, r.Trips)
			}
		}
	}
}

// The server starts nothing: the rate at which its card starts operations does
// not matter, as long as no answer is late; written answers wait for it.
func TestFetchStartsNothing(t *testing.T) {
	run := func(scheme string, out float64) *Result {
		cl := openCluster(t, "connectx3")
		cl.Server.NIC.OutMops, cl.Server.RequestNs, cl.Server.SpinNs = out, 100, 1e9
		return fetchRun(t, cl, scheme, "1e-5", 8, 0)
	}
	if a, b := run("fetch", 2), run("fetch", 0.01); a.OpsPerS != b.OpsPerS || a.MeanUs != b.MeanUs || a.Written+b.Written != 0 {
		t.Errorf("fetched answers wait for operations that the server starts:\n%+v\n%+v", a, b)
	}
	if a, b := run("fast", 2), run("fast", 0.01); b.OpsPerS > a.OpsPerS/2 {
		t.Errorf("written answers: %.0f and %.0f searches/s", a.OpsPerS, b.OpsPerS)
	}
}

// Fetching pays on cards that serve more than they start; not on those with
// equal rates.
func TestFetchOrderings(t *testing.T) {
	for _, scale := range []string{"1e-5", "1e-2"} {
		cl := openCluster(t, "connectx3")
		fetch := fetchRun(t, cl, "fetch", scale, 35, 0)
		best := 0.0
		for _, workers := range []int{4, 16} {
			cl.Server.Workers = workers
			best = max(best, fetchRun(t, cl, "fast", scale, 35, 0).OpsPerS)
		}
		if fetch.OpsPerS < 1.5*best {
			t.Errorf("connectx3, %s: fetch %.0f searches/s, fast %.0f", scale, fetch.OpsPerS, best)
		}
		modern := openCluster(t, "modern")
		fetch, fast := fetchRun(t, modern, "fetch", scale, 32, 0), fetchRun(t, modern, "fast", scale, 32, 0)
		if fetch.OpsPerS > fast.OpsPerS || fetch.MeanUs < fast.MeanUs {
			t.Errorf("modern, %s: fetch %.0f searches/s, fast %.0f", scale, fetch.OpsPerS, fast.OpsPerS)
		}
	}
}

// Clients that compare both kinds of answers end with the better one, or with
// a mix that is better still, and stay there: also many at once, whose results
// depend on each other's choices.
func TestFetchDecides(t *testing.T) {
	for _, x := range []struct {
		cluster, key string
		value        float64
		clients      int
		scale        string
		fetched      bool // is the better way
	}{
		{"modern", "", 0, 32, "1e-5", false},
		{"modern", "server.nic.gbit_s", 10, 32, "1e-2", false},
		{"modern", "server.nic.out_mops", 5, 100, "1e-5", true},
		{"connectx3", "", 0, 35, "1e-2", true},
		{"connectx3", "", 0, 112, "1e-5", true},
	} {
		cl := openCluster(t, x.cluster)
		if x.key != "" {
			if err := cl.Set(x.key, x.value); err != nil {
				t.Fatal(err)
			}
		}
		fast, fetch := fetchRun(t, cl, "fast", x.scale, x.clients, 0), fetchRun(t, cl, "fetch", x.scale, x.clients, 0)
		if (fetch.OpsPerS > fast.OpsPerS) != x.fetched {
			t.Fatalf("%+v: fast %.0f searches/s, fetch %.0f", x, fast.OpsPerS, fetch.OpsPerS)
		}
		// Counted in calls: 6000 of each client, and then 1000. Trials are
		// still frequent then; at their rarest they cost a quarter of that.
		calls := func(n int, r *Result) time.Duration { return time.Duration(float64(n) * r.MeanUs * 1e3) }
		better := fast
		if x.fetched {
			better = fetch
		}
		r := simulate(t, Config{Cluster: cl, Scheme: "fetch", Clients: x.clients,
			Warmup: calls(6000, better), Duration: max(calls(1000, better), time.Millisecond)}, small(t, x.scale))
		if r.OpsPerS < 0.96*better.OpsPerS {
			t.Errorf("%+v: %.0f searches/s, fast %.0f, fetch %.0f", x, r.OpsPerS, fast.OpsPerS, fetch.OpsPerS)
		}
		if x.fetched && r.Written > 0.5 || !x.fetched && r.Written < 0.9 {
			t.Errorf("%+v: %.3f of the answers are written", x, r.Written)
		}
		if limit := uint64(2 * x.clients / 3); r.Moves > limit {
			t.Errorf("%+v: %d moves of %d clients in 1000 calls each, want at most %d", x, r.Moves, x.clients, limit)
		}
		if r.Trials == 0 {
			t.Errorf("%+v: no trials", x)
		}
	}
}
