package sim

import (
	"errors"
	"testing"

	"github.com/catfish-index/catfish/bench/harness"
)

// A receive costs the threads of both sides, and their cards: one client's call takes as much
// longer, and a server that many clients ask starts half as many answers.
func TestKVTwoSided(t *testing.T) {
	cfg := kvConfig(t, KVScheme{Written: true}, 4, 1)
	written := runKV(t, cfg)
	cfg.Scheme.TwoSided = true
	sent := runKV(t, cfg)
	cl := cfg.Cluster
	// The server's receive keeps its card from the answer; the client's, from the request.
	if more := 1e3 * (sent.MeanUs - written.MeanUs); more < 2*(cl.Client.PostNs+cl.Client.CompletionNs) || more > 2*(cl.Client.PostNs+cl.Client.CompletionNs+perOp(cl.Client.NIC.OutMops)) {
		t.Errorf("a call takes %v us, written ones %v", sent.MeanUs, written.MeanUs)
	}
	cfg.Clients = 70
	many := runKV(t, cfg)
	cfg.Scheme.TwoSided = false
	if ratio := runKV(t, cfg).Mops / many.Mops; ratio < 1.9 {
		t.Errorf("%v times the calls without receives", ratio)
	}
}

// Two threads of an instance hold its lock in turn: operations that need it all the time are no
// faster than one thread's, and others twice as fast. The hand-over takes time.
func TestKVPipelined(t *testing.T) {
	cfg := kvConfig(t, KVScheme{Written: true}, 2, 20)
	cfg.GetPercent, cfg.Costs = 100, KVCosts{GetNs: 20_000}
	cfg.Scheme.Instances, cfg.Scheme.Dispatchers = 1, 1
	free := runKV(t, cfg)
	cfg.Scheme.Locks, cfg.Costs = true, KVCosts{GetLockNs: 20_000}
	locked := runKV(t, cfg)
	if ratio := free.Mops / locked.Mops; ratio < 1.8 || ratio > 2.1 {
		t.Errorf("%v times as fast without the lock", ratio)
	}
	cfg.Scheme.Instances, cfg.Scheme.Dispatchers = 2, 1
	if ratio := runKV(t, cfg).Mops / locked.Mops; ratio < 1.6 || ratio > 2.1 {
		t.Errorf("two instances: %v times one", ratio)
	}
	cfg = kvConfig(t, KVScheme{Written: true}, 1, 1)
	alone := runKV(t, cfg)
	cfg.Scheme.Instances, cfg.Scheme.Dispatchers = 1, 1
	hand := 2 * kvHandLines * cfg.Cluster.Server.NIC.PostMoveNs
	if more := 1e3 * (runKV(t, cfg).MeanUs - alone.MeanUs); more < hand-10 || more > hand+10 {
		t.Errorf("handing over takes %v ns, want %v", more, hand)
	}
}

func TestKVStagesErrors(t *testing.T) {
	for _, s := range []KVScheme{
		{TwoSided: true},              // answers are fetched
		{Written: true, Instances: 3}, // of 4 threads
		{Written: true, Instances: 2}, // without dispatchers
		{Written: true, Instances: 2, Dispatchers: 5},
		{Written: true, TwoSided: true, Events: true},
	} {
		if _, err := RunKV(t.Context(), kvConfig(t, s, 4, 1)); !errors.Is(err, harness.ErrConfig) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
