package boottime

import "testing"

func TestClockRisesWithoutAllocations(t *testing.T) {
	last := Now()
	if n := testing.AllocsPerRun(1000, func() {
		now := Now()
		if now < last || last <= 0 {
			t.Fatalf("%v after %v", now, last)
		}
		last = now
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
