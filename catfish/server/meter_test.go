package server

import (
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
)

// Each kind of request has a name, and no two have the same.
func TestKindNames(t *testing.T) {
	seen := map[string]fastmsg.Kind{}
	for k := wire.KindOpen; k <= wire.LastRequest; k++ {
		name := kindNames[k]
		if before, twice := seen[name]; name == "" || twice {
			t.Errorf("kind %d is %q, as is %d", k, name, before)
		}
		seen[name] = k
	}
}

func TestObserve(t *testing.T) {
	m := new(meter)
	for _, c := range []struct {
		d      time.Duration
		bucket int
	}{
		{0, 0}, {1, 0}, {time.Microsecond, 0}, {time.Microsecond + 1, 1}, {2 * time.Microsecond, 1},
		{3 * time.Microsecond, 2}, {4 * time.Microsecond, 2}, {5 * time.Microsecond, 3},
		{1 << 19 * time.Microsecond, 19}, {1<<19*time.Microsecond + 1, meterBuckets}, {time.Hour, meterBuckets},
	} {
		before := m.kinds[wire.KindGet].buckets[c.bucket].Load()
		m.observe(wire.KindGet, 1, c.d, false)
		if got := m.kinds[wire.KindGet].buckets[c.bucket].Load(); got != before+1 {
			t.Errorf("%v is not in bucket %d", c.d, c.bucket)
		}
	}
	m.observe(200, 3, 3*time.Microsecond, true)
	if k := &m.kinds[0]; k.buckets[0].Load() != 3 || k.failed.Load() != 3 {
		t.Error("three of an unknown kind, of 1 us each, are not counted")
	}
}

// Without Meter there are no counts, and with it no allocation.
func TestMeterCost(t *testing.T) {
	s := startServer(t, Options{})
	dial(t, s, client.Options{})
	if l := s.Requests(); len(l) != 0 {
		t.Errorf("%v", l)
	}
	m := new(meter)
	if n := testing.AllocsPerRun(100, func() { m.observe(wire.KindGet, 1, time.Microsecond, false) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
