package catfish

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/rstar"
)

// Each kind of request has a name, and no two have the same.
func TestKindNames(t *testing.T) {
	seen := map[string]fastmsg.Kind{}
	for k := kindOpen; k <= lastRequest; k++ {
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
		before := m.kinds[kindGet].buckets[c.bucket].Load()
		m.observe(kindGet, 1, c.d, false)
		if got := m.kinds[kindGet].buckets[c.bucket].Load(); got != before+1 {
			t.Errorf("%v is not in bucket %d", c.d, c.bucket)
		}
	}
	m.observe(200, 3, 3*time.Microsecond, true)
	if k := &m.kinds[0]; k.buckets[0].Load() != 3 || k.failed.Load() != 3 {
		t.Error("three of an unknown kind, of 1 us each, are not counted")
	}
}

// A server counts the requests that it gets, over every transport, whether they are
// served alone or together.
func TestRequests(t *testing.T) {
	s := startServer(t, ServerOptions{Meter: true, Records: []string{"records"}})
	ctx := t.Context()
	for _, p := range append(oneSided, TransportTCP) {
		o := Options{Transport: p, Policy: "fast"}
		if p == TransportTCP {
			o.Policy = "tcp"
		}
		c := dial(t, s, o)
		r, err := c.Records("records")
		if err != nil {
			t.Fatal(err)
		}
		const clients, each = 8, 50
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				for range each {
					if _, err := c.Search(ctx, rstar.Rect{MaxX: 1, MaxY: 1}); err != nil {
						t.Error(err)
					}
					if _, err := r.Get(ctx, []byte("none"), nil); err == nil {
						t.Error("found a record that was not put")
					}
				}
			})
		}
		wg.Wait()
		if _, err := dial(t, s, o).Collection("not/a name"); !errors.Is(err, ErrOption) {
			t.Error(err)
		}
		unknown, err := c.Collection("unknown")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := unknown.Count(ctx, rstar.Rect{}); !errors.Is(err, ErrUnknownCollection) {
			t.Error(err)
		}
		got := map[string]RequestStats{}
		for _, r := range s.Requests() {
			if r.Transport == p {
				got[r.Kind] = r
			}
		}
		// A client gathers searches and gets into one message where it may.
		searched := got["search"].Count + got["search_many"].Count
		if got["get"].Count == 0 || searched == 0 || searched > clients*each || got["get"].Count > clients*each ||
			got["search"].Seconds <= 0 || got["search"].Failed != 0 || got["open"].Failed != 1 {
			t.Errorf("%s: %+v", p, got)
		}
	}
}

// Without Meter there are no counts, and with it no allocation.
func TestMeterCost(t *testing.T) {
	s := startServer(t, ServerOptions{})
	dial(t, s, Options{})
	if l := s.Requests(); len(l) != 0 {
		t.Errorf("%v", l)
	}
	m := new(meter)
	if n := testing.AllocsPerRun(100, func() { m.observe(kindGet, 1, time.Microsecond, false) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
