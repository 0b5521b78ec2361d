package sim

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/ycsb"
)

var (
	testJakiro = KVScheme{Name: "Jakiro", FetchBytes: 36}
	testReply  = KVScheme{Name: "ServerReply", Written: true, Waits: true}
	testFetch  = KVScheme{Name: "fetch", Events: true}
)

func kvConfig(t testing.TB, s KVScheme, threads, clients int) KVConfig {
	t.Helper()
	return KVConfig{
		Cluster: openCluster(t, "connectx3"), Scheme: s, Costs: KVCosts{GetNs: 250, PutNs: 300},
		Threads: threads, Clients: clients, GetPercent: 95, Keys: 1e6, Sizes: KVSizes{Bytes: 32},
		Duration: 5 * time.Millisecond, Warmup: time.Millisecond, Seed: 1,
	}
}

func runKV(t testing.TB, cfg KVConfig) *KVResult {
	t.Helper()
	r, err := RunKV(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestKVDeterminism(t *testing.T) {
	for _, s := range []KVScheme{testJakiro, testReply, testFetch} {
		cfg := kvConfig(t, s, 4, 20)
		cfg.Costs.TicksPerS, cfg.Costs.TickNs = 1000, 10e3
		a, b := runKV(t, cfg), runKV(t, cfg)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: two runs differ:\n%+v\n%+v", s.Name, a, b)
		}
		cfg.Seed = 2
		if c := runKV(t, cfg); c.MeanUs == a.MeanUs {
			t.Errorf("%s: seeds 1 and 2 both give a mean of %v us", s.Name, c.MeanUs)
		}
	}
}

// Little's law holds for every scheme: no call is lost, none counts twice.
func TestKVObeysLittlesLaw(t *testing.T) {
	hybrid := testFetch
	hybrid.FallBack, hybrid.Compares = 2, true
	locks := KVScheme{Name: "locks", Written: true, Waits: true, ByClient: true, Locks: true}
	for _, s := range []KVScheme{testJakiro, testReply, testFetch, hybrid, locks} {
		for _, service := range []float64{250, 3000, 20e3} {
			cfg := kvConfig(t, s, 4, 35)
			cfg.Costs = KVCosts{GetNs: service, PutNs: service, PutLockNs: 500, TicksPerS: 250, TickNs: 1e4}
			cfg.Duration = 20 * time.Millisecond
			r := runKV(t, cfg)
			if got := r.Mops * (r.MeanUs + 0.6); math.Abs(got/35-1) > 0.02 {
				t.Errorf("%s, %v ns: Little's law gives %.2f of 35 clients", s.Name, service, got)
			}
			if r.Trips < 1 || s.Written && (r.Trips != 1 || r.ServerPosts < 0.99) || r.Busy > 1.001 || r.In > 1.001 || r.Out > 1.001 {
				t.Errorf("%s, %v ns: %+v", s.Name, service, r)
			}
		}
	}
}

// The claims of RFP: the server starts nothing, and the limit is the rate that
// its card serves; the orderings of its throughput.
func TestKVOrderings(t *testing.T) {
	jakiro, reply := runKV(t, kvConfig(t, testJakiro, 4, 35)), runKV(t, kvConfig(t, testReply, 6, 28))
	if jakiro.ServerPosts != 0 || jakiro.In < 0.99 || jakiro.Mops < 2*reply.Mops || jakiro.MeanUs > reply.MeanUs {
		t.Errorf("Jakiro %+v\nServerReply %+v", jakiro, reply)
	}
	// Two trips but for fetches that come too early; three if the fetch is short.
	if jakiro.Trips < 2 || jakiro.Trips > 2.02 {
		t.Errorf("%.3f trips a call", jakiro.Trips)
	}
	long := kvConfig(t, testJakiro, 4, 35)
	long.Sizes.Bytes, long.GetPercent = 64, 100
	if r := runKV(t, long); math.Abs(r.Trips-3) > 0.02 || r.Mops > 0.7*jakiro.Mops {
		t.Errorf("longer values: %.3f trips a call, %.2f million/s", r.Trips, r.Mops)
	}
	// Fetches from a slow server find no answer.
	slow := kvConfig(t, testJakiro, 4, 35)
	slow.Costs.GetNs = 8e3
	never, back := runKV(t, slow), slow
	back.Scheme.FallBack, back.Scheme.Compares = 5, true
	hybrid := runKV(t, back)
	if never.WastedReads < 5 || hybrid.WastedReads > never.WastedReads/4 || hybrid.Written < 0.9 {
		t.Errorf("a slow server: %.1f reads in vain, %.1f with falling back, %.0f %% written", never.WastedReads, hybrid.WastedReads, 100*hybrid.Written)
	}
	back.Costs.GetNs, back.Scheme.Compares = 250, false
	if r := runKV(t, back); r.Written > 0.01 {
		t.Errorf("a fast server: %.1f %% written", 100*r.Written)
	}
}

// The kernel's interruptions alone make calls long.
func TestKVTicks(t *testing.T) {
	cfg := kvConfig(t, testJakiro, 4, 21)
	cfg.Duration = 20 * time.Millisecond
	if r := runKV(t, cfg); r.Longer > 0.001 {
		t.Errorf("without interruptions: %.4f of calls take longer", r.Longer)
	}
	cfg.Costs.TicksPerS, cfg.Costs.TickNs = 250, 12e3
	if r := runKV(t, cfg); r.Longer < 0.001 || r.Longer > 0.01 || r.LongerUs < 6 || r.LongerUs > 20 {
		t.Errorf("with interruptions: %.4f of calls take longer, %.1f us", r.Longer, r.LongerUs)
	}
}

// A client that chooses without knowing the card is nearly as fast as with the best fixed size.
func TestKVFetchSize(t *testing.T) {
	law, err := NewLogNormal(5, 1.2, 1, 8000)
	if err != nil {
		t.Fatal(err)
	}
	best := 0.0
	for _, bytes := range []int{0, 64, 256, 512, 1024, 4096} {
		cfg := kvConfig(t, testFetch, 8, 35)
		cfg.Sizes.Law, cfg.Scheme.FetchBytes = law, bytes
		r := runKV(t, cfg)
		switch {
		case bytes == 0:
			best = r.Mops
			if r.FetchBytes < 128 || r.FetchBytes > 1024 {
				t.Errorf("fetches of %.0f bytes", r.FetchBytes)
			}
		case r.Mops > 1.1*best:
			t.Errorf("fetches of %d bytes: %.2f million/s, chosen ones %.2f", bytes, r.Mops, best)
		}
	}
}

// The law has the mean and the share that were asked for, and draws follow it.
func TestLogNormal(t *testing.T) {
	law, err := NewLogNormal(3.573, 0.613, 1, 899)
	if err != nil {
		t.Fatal(err)
	}
	if m := law.Mean(); math.Abs(m-43) > 0.1 {
		t.Errorf("mean %.2f", m)
	}
	sizes := KVSizes{Law: law}
	const draws = 200_000
	sum, above := 0.0, 0
	r := ycsb.Config{Seed: 3}
	for i := range uint64(draws) {
		k := r.Key(i)
		n := sizes.of(hashOf(&k))
		if n < 1 || n > 899 {
			t.Fatalf("%d bytes", n)
		}
		sum += float64(n)
		if n > 100 {
			above++
		}
	}
	if m := sum / draws; math.Abs(m-law.Mean()) > 0.3 {
		t.Errorf("mean of draws %.2f, of the law %.2f", m, law.Mean())
	}
	if got, want := float64(above)/draws, law.Above(100); math.Abs(got/want-1) > 0.05 {
		t.Errorf("above 100 bytes: %.4f of draws, %.4f of the law", got, want)
	}
	if law.Above(0) != 1 || law.Above(899) != 0 || law.Above(5000) != 0 {
		t.Error("beyond the ends")
	}
}

func TestKVErrors(t *testing.T) {
	good := kvConfig(t, testJakiro, 4, 8)
	for says, change := range map[string]func(*KVConfig){
		"no cluster":                                     func(c *KVConfig) { c.Cluster = nil },
		"server threads is 17, want 1 to 16":             func(c *KVConfig) { c.Threads = 17 },
		"client threads is 0, want 1 to 16384":           func(c *KVConfig) { c.Clients = 0 },
		"share of GETs in percent is 101, want 0 to 100": func(c *KVConfig) { c.GetPercent = 101 },
		"bytes of a fetch is -1, want 0 to":              func(c *KVConfig) { c.Scheme.FetchBytes = -1 },
		"fetches in vain is -1":                          func(c *KVConfig) { c.Scheme.FallBack = -1 },
		"get_ns is NaN, want 0 to 1e+07":                 func(c *KVConfig) { c.Costs.GetNs = math.NaN() },
		"at most half of the time":                       func(c *KVConfig) { c.Costs.TicksPerS, c.Costs.TickNs = 1e6, 1e4 },
		"bytes of a value is 0, want 1 to 32768":         func(c *KVConfig) { c.Sizes.Bytes = 0 },
		"that NewLogNormal did not make":                 func(c *KVConfig) { c.Sizes.Law = &LogNormal{} },
		"0 keys, want 1 to":                              func(c *KVConfig) { c.Keys = 0 },
		"servers is 65, want 0 to 64":                    func(c *KVConfig) { c.Servers = 65 },
		"want one server on a machine of its own":        func(c *KVConfig) { c.Servers, c.Scheme.Locks = 2, true },
		"pointers to 0 keys of 0 machines, want 1000000": func(c *KVConfig) { c.Scheme = KVScheme{Written: true, Pointers: &KVPointers{}} },
		"duration is 0s":                                 func(c *KVConfig) { c.Duration = 0 },
	} {
		cfg := good
		change(&cfg)
		if _, err := RunKV(t.Context(), cfg); !errors.Is(err, harness.ErrConfig) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v\n  does not say %q", err, says)
		}
	}
	for _, bad := range [][2]float64{{math.NaN(), 1}, {3, 0}, {3, math.Inf(1)}} {
		if _, err := NewLogNormal(bad[0], bad[1], 1, 10); !errors.Is(err, harness.ErrConfig) {
			t.Errorf("law %v: %v", bad, err)
		}
	}
	if _, err := NewLogNormal(3, 1, 10, 9); !errors.Is(err, harness.ErrConfig) || !strings.Contains(err.Error(), "largest value in bytes is 9, want 10 to") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := RunKV(ctx, good); !errors.Is(err, why) {
		t.Errorf("cancelled: %v", err)
	}
}
