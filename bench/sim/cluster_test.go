package sim

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/policy"
)

func TestClusters(t *testing.T) {
	for _, name := range Clusters() {
		cl := openCluster(t, name)
		if cl.Name != name || cl.About == "" || cl.Device == "" {
			t.Errorf("%s: %q, %q, %q", name, cl.Name, cl.About, cl.Device)
		}
		if _, err := newWorkload(Spec{Dataset: "uniform", Objects: 1000, Scale: "1e-2",
			NodeBytes: cl.Tree.NodeBytes}, func(string) {}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p := openCluster(t, "paper"); p.Server.Cores != 28 || p.Client.Machines != 8 || p.Client.InFlight != 1 {
		t.Errorf("the paper had 2 x 14 cores, 8 client machines and one call per client: %+v", p)
	}
}

// Errors of files name the key, the value and the limit.
func TestClusterErrors(t *testing.T) {
	good, err := files.ReadFile("clusters/paper.toml")
	if err != nil {
		t.Fatal(err)
	}
	change := func(from, to string) string {
		if !strings.Contains(string(good), from) {
			t.Fatalf("paper.toml has no %q", from)
		}
		return strings.Replace(string(good), from, to, 1)
	}
	for _, c := range []struct{ text, says string }{
		{change("[tree]\n", "[tree]\nheight = 3\n"), "unknown key tree.height"},
		{change("about =", "abuot ="), "unknown key abuot"},
		{change("cores = 28            # 2 x 14\n", ""), "key server.cores is missing"},
		{change("cores = 28", "cores = 0"), "server.cores is 0, want 1 to 4096"},
		{change("spread = 1", "spread = 1.5"), "heartbeat.spread is 1.5, want 0 to 1"},
		{change("spread = 1", "spread = nan"), "heartbeat.spread is NaN, want 0 to 1"},
		{change("spread = 1", "spread = inf"), "heartbeat.spread is +Inf, want 0 to 1"},
		{change("gbit_s = 1 ", "gbit_s = 0 "), "tcp.nic.gbit_s is 0, want 0.001 to 1e+06"},
		{change("publish_ns = 500 ", "publish_ns = 500000 "), "server.publish_ns is 500000, want at most server.insert_ns"},
		{change("cores = 28", "cores = \"many\""), "incompatible types"},
		{change("cores = 28", "cores = 2.5"), "paper"},
		{change("[tree]", "[tree"), "line "},
	} {
		_, err := Parse("paper", []byte(c.text))
		if !errors.Is(err, ErrCluster) || !errors.Is(err, harness.ErrConfig) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v\n  does not say %q", err, c.says)
		}
	}
	if _, err := Open("moon"); !errors.Is(err, ErrCluster) || !strings.Contains(err.Error(), "paper, thismachine") {
		t.Errorf("unknown name: %v", err)
	}
	if _, err := Open("./moon.toml"); !errors.Is(err, ErrCluster) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("unknown file: %v", err)
	}
	file := filepath.Join(t.TempDir(), "mine.toml")
	if err := os.WriteFile(file, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if cl, err := Open(file); err != nil || cl.Name != "mine" {
		t.Errorf("%+v, %v", cl, err)
	}
}

func TestSetGet(t *testing.T) {
	cl := openCluster(t, "paper")
	for key, v := range map[string]float64{"server.cores": 4, "server.nic.in_mops": 11.26, "client.think_ns": 0} {
		if err := cl.Set(key, v); err != nil {
			t.Error(err)
		}
		if got, err := cl.Get(key); err != nil || got != v {
			t.Errorf("%s is %v, %v, want %v", key, got, err, v)
		}
	}
	for _, key := range []string{"about", "client.spins", "server", "server.speed", ""} {
		if err := cl.Set(key, 1); !errors.Is(err, ErrCluster) {
			t.Errorf("Set(%q): %v", key, err)
		}
		if _, err := cl.Get(key); !errors.Is(err, ErrCluster) {
			t.Errorf("Get(%q): %v", key, err)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	good := Config{Cluster: openCluster(t, "paper"), Scheme: "fast", Clients: 4, Duration: time.Second}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(*Config)
		says   string
	}{
		{func(c *Config) { c.Cluster = nil }, "no cluster"},
		{func(c *Config) { c.Clients = 0 }, "clients is 0, want 1 to"},
		{func(c *Config) { c.Clients = 1 << 30 }, "clients is 1073741824"},
		{func(c *Config) { c.InFlight = -1 }, "in-flight is -1"},
		{func(c *Config) { c.Mix = [2]int{50, 40} }, "share of inserts is 40, want 50 to 50"},
		{func(c *Config) { c.Mix = [2]int{-1, 101} }, "share of searches is -1"},
		{func(c *Config) { c.Duration = 0 }, "duration is 0s, want 1ms to"},
		{func(c *Config) { c.Warmup = -1 }, "warmup is -1ns"},
		{func(c *Config) { c.Backoff.N = 1 << 30 }, "N is 1073741824, want 1 to"},
		{func(c *Config) { c.Backoff.Predictor = "x" }, `predictor "x", want one of`},
	} {
		cfg := good
		c.change(&cfg)
		if err := cfg.Validate(); !errors.Is(err, harness.ErrConfig) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v\n  does not say %q", err, c.says)
		}
		if _, err := Run(t.Context(), cfg, nil); err == nil {
			t.Error("ran")
		}
	}
	bad := good
	bad.Scheme = "quick"
	if err := bad.Validate(); !errors.Is(err, policy.ErrScheme) {
		t.Errorf("scheme quick: %v", err)
	}
	if _, err := MixOf(bench.Mix{bench.Search: 90, bench.Delete: 10}); !errors.Is(err, harness.ErrConfig) {
		t.Errorf("deletes: %v", err)
	}
}
