package catfish

import (
	"testing"
	"time"
)

// TestCensus: who asks about a border first counts for all; who has left is
// counted still.
func TestCensus(t *testing.T) {
	var a, b counters
	census, leaveA := joinCrowd(crowdKey{addr: "127.0.0.1:1"}, &a)
	same, leaveB := joinCrowd(crowdKey{addr: "127.0.0.1:1"}, &b)
	if other, leave := joinCrowd(crowdKey{addr: "127.0.0.1:2"}, &counters{}); other == census || same != census {
		t.Error("clients of one server are not counted together, or those of two are")
	} else {
		leave()
	}
	at := func(border, now int64) (uint64, int64) {
		n, at := same.At(time.Unix(0, border), time.Unix(0, now))
		return n, at.UnixNano()
	}
	a.fast.Add(10)
	b.offloaded.Add(5)
	if n, when := at(100, 101); n != 15 || when != 101 {
		t.Errorf("%d at %d, want 15 at 101", n, when)
	}
	b.fast.Add(7)
	if n, when := at(100, 105); n != 15 || when != 101 {
		t.Errorf("asked again: %d at %d, want 15 at 101", n, when)
	}
	leaveA()
	leaveA() // nothing more
	if n, when := at(200, 203); n != 22 || when != 203 {
		t.Errorf("after one left: %d at %d, want 22 at 203", n, when)
	}
	for border := int64(300); border < 300+censusMarks; border++ {
		at(border, border)
	}
	b.fast.Add(1)
	if n, _ := at(100, 400); n != 23 {
		t.Errorf("a border long ago: %d, want what is counted now, 23", n)
	}
	leaveB()
	crowds.Lock()
	defer crowds.Unlock()
	if crowds.of[crowdKey{addr: "127.0.0.1:1"}] != nil {
		t.Error("kept though all have left")
	}
}
