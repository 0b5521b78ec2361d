package sim

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/catfish-index/catfish/bench/harness"
)

func replicated(t testing.TB, way KVReplication, secondaries, clients int) KVConfig {
	t.Helper()
	cfg := kvConfig(t, KVScheme{Name: "HydraDB", Written: true, Secondaries: secondaries, Replication: way}, 1, clients)
	cfg.GetPercent = 0
	return cfg
}

// One client's PUT takes longer by what each way adds to its path, and no call is lost.
func TestKVReplication(t *testing.T) {
	alone := runKV(t, replicated(t, "", 0, 1)).MeanUs
	cl := openCluster(t, "connectx3")
	trip := 2 * cl.Fabric.LatencyNs / 1e3
	before := map[KVReplication]float64{}
	for _, secondaries := range []int{1, 2} {
		at := map[KVReplication]float64{}
		for _, way := range []KVReplication{KVRelaxed, KVRelaxedWaits, KVStrict} {
			r := runKV(t, replicated(t, way, secondaries, 1))
			at[way] = r.MeanUs
			if r.ServerPosts < float64(secondaries)+.99 || r.ServerPosts > float64(secondaries)+1.01 {
				t.Errorf("%s, %d secondaries: %v posts a PUT", way, secondaries, r.ServerPosts)
			}
			if at[way] <= before[way] {
				t.Errorf("%s: %v us with %d secondaries, %v with one less", way, at[way], secondaries, before[way])
			}
			before[way] = at[way]
			many := runKV(t, replicated(t, way, secondaries, 16))
			if got := many.Mops * (many.MeanUs + cl.Client.ThinkNs/1e3); math.Abs(got/16-1) > 0.02 {
				t.Errorf("%s: Little's law gives %.2f of 16 clients", way, got)
			}
			if !reflect.DeepEqual(many, runKV(t, replicated(t, way, secondaries, 16))) {
				t.Errorf("%s: two runs differ", way)
			}
		}
		if at[KVRelaxed] < alone+trip/2 || at[KVStrict] < at[KVRelaxed] || at[KVRelaxedWaits] != at[KVRelaxed] {
			t.Errorf("alone %v us, %v", alone, at)
		}
		// A thread that waits serves fewer.
		if a, b := runKV(t, replicated(t, KVRelaxed, secondaries, 16)).Mops, runKV(t, replicated(t, KVRelaxedWaits, secondaries, 16)).Mops; a <= b {
			t.Errorf("%d secondaries: %v Mops, %v if it waits", secondaries, a, b)
		}
	}
}

func TestKVReplicationValidate(t *testing.T) {
	for _, change := range []func(*KVConfig){
		func(c *KVConfig) { c.Scheme.Replication = "some" },
		func(c *KVConfig) { c.Scheme.Secondaries = 17 },
		func(c *KVConfig) { c.Threads = 2 },
		func(c *KVConfig) { c.Scheme.Written = false },
		func(c *KVConfig) { c.Scheme.Events = true },
	} {
		cfg := replicated(t, KVStrict, 1, 1)
		change(&cfg)
		if err := cfg.Validate(); !errors.Is(err, harness.ErrConfig) {
			t.Errorf("%+v: %v", cfg.Scheme, err)
		}
	}
}
