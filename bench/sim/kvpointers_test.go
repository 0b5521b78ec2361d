package sim

import (
	"context"
	"errors"
	"testing"
)

// pointing is kvConfig with pointers that many calls have brought.
func pointing(t *testing.T, get, calls int) KVConfig {
	t.Helper()
	cfg := kvConfig(t, KVScheme{Name: "HydraDB", Written: true}, 1, 14)
	cfg.GetPercent, cfg.Keys = get, 1000
	p, err := NewKVPointers(t.Context(), cfg, calls)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Scheme.Pointers = p
	return cfg
}

// Clients that have pointers to all keys read all items, without the server's thread. A PUT
// ends the pointers of all machines, so that few GETs hit and as many find a dead item.
func TestKVPointers(t *testing.T) {
	all := runKV(t, pointing(t, 100, 200_000))
	if all.Hits != 1 || all.Dead != 0 || all.Busy != 0 || all.Trips != 1 {
		t.Errorf("hits %v, dead %v, the thread is busy %v, %v trips", all.Hits, all.Dead, all.Busy, all.Trips)
	}
	half := runKV(t, pointing(t, 50, 200_000))
	// A key's machine has read it since its last PUT in one of eight cases: 1/7 against 1.
	if half.Hits < 0.08 || half.Hits > 0.18 || half.Dead < 0.6 || half.Hits+half.Dead > 1 {
		t.Errorf("half of the calls are PUTs: hits %v, dead %v", half.Hits, half.Dead)
	}
	cold := runKV(t, pointing(t, 100, 0))
	if cold.Hits == 0 || cold.Hits >= 1 || cold.Dead != 0 {
		t.Errorf("without calls before: hits %v, dead %v", cold.Hits, cold.Dead)
	}
	// A run does not change the pointers of its configuration.
	cfg := pointing(t, 50, 1000)
	if a, b := runKV(t, cfg), runKV(t, cfg); a.Hits != b.Hits || a.MeanUs != b.MeanUs {
		t.Errorf("two runs with the same pointers: %v and %v", a.Hits, b.Hits)
	}
}

func TestKVPointersErrors(t *testing.T) {
	cfg := kvConfig(t, KVScheme{Written: true}, 1, 14)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := NewKVPointers(ctx, cfg, 10); !errors.Is(err, why) {
		t.Errorf("cancelled: %v", err)
	}
	cfg.Keys = 1 << 30
	if _, err := NewKVPointers(t.Context(), cfg, 10); err == nil {
		t.Error("pointers to 2^30 keys")
	}
}

// Two servers serve twice what one does, while threads are the limit; on the clients' cards less.
func TestKVServers(t *testing.T) {
	cfg := kvConfig(t, KVScheme{Name: "HydraDB", Written: true}, 1, 70)
	cfg.Costs.GetNs, cfg.Costs.PutNs = 2000, 2000
	one := runKV(t, cfg)
	cfg.Servers = 2
	two := runKV(t, cfg)
	if ratio := two.Mops / one.Mops; ratio < 1.9 || ratio > 2.02 {
		t.Errorf("two servers: %v times one", ratio)
	}
	cfg.Costs.GetNs, cfg.Costs.PutNs, cfg.Servers = 100, 100, 7
	apart := runKV(t, cfg)
	cfg.Collocated = true
	if together := runKV(t, cfg); together.Mops >= apart.Mops {
		t.Errorf("seven servers on the clients' machines: %v Mops, on others %v", together.Mops, apart.Mops)
	}
}
