package api

import "testing"

// TestBatchPool: each buffer has room for its use, and those of large features
// are not kept.
func TestBatchPool(t *testing.T) {
	for _, c := range []struct{ length, least int }{{0, soonBytes}, {soonBytes, soonBytes}, {soonBytes + 1, poolBytes}, {poolBytes, poolBytes}, {1 << 20, 1 << 20}} {
		var p batchPool
		b := p.Get(c.length)
		if len(*b) != c.length || cap(*b) < c.least {
			t.Errorf("Get(%d): %d bytes, room for %d", c.length, len(*b), cap(*b))
		}
	}
	for _, c := range []struct {
		size       int
		soon, full bool
	}{{soonBytes - 1, false, false}, {soonBytes, true, false}, {poolBytes - 1, true, false}, {poolBytes, false, true}, {2 * poolBytes, false, true}, {2*poolBytes + 1, false, false}} {
		var soon, full int
		for range 100 { // A pool may forget, and under the race detector does.
			var p batchPool
			b := make([]byte, 1, c.size)
			p.Put(&b)
			if p.soon.Get() != nil {
				soon++
			}
			if p.full.Get() != nil {
				full++
			}
		}
		if soon > 0 != c.soon || full > 0 != c.full {
			t.Errorf("a buffer of %d bytes: %d times kept for the first batch, %d times for others", c.size, soon, full)
		}
	}
}

// TestBatchPoolGivesRoom: a buffer that was put is good for any length of its size.
func TestBatchPoolGivesRoom(t *testing.T) {
	var p batchPool
	for _, length := range []int{1, soonBytes, poolBytes - 1, poolBytes, poolBytes + 1, 2 * poolBytes, 1} {
		b := p.Get(length)
		if len(*b) != length {
			t.Fatalf("Get(%d): %d bytes", length, len(*b))
		}
		p.Put(b)
	}
}
