package policy

import (
	"testing"
	"time"
)

// TestCensus: who asks about a border first counts for all; who has left is
// counted still.
func TestCensus(t *testing.T) {
	var gs Groups
	one, leaveA := gs.Join("1")
	two, leaveB := gs.Join("1")
	a, b := NewEngine(newCost(1), time.Now, one), NewEngine(newCost(2), time.Now, two)
	if other, _ := gs.Join("2"); other == one || one != two {
		t.Error("clients of one server are not counted together, or those of two are")
	}
	if other, _ := new(Groups).Join("1"); other == one {
		t.Error("clients of two sets of groups are counted together")
	}
	same := one.census
	at := func(border, now int64) (uint64, int64) {
		n, at := same.At(time.Unix(0, border), time.Unix(0, now))
		return n, at.UnixNano()
	}
	a.finished[0].Add(10)
	b.finished[1].Add(5)
	if n, when := at(100, 101); n != 15 || when != 101 {
		t.Errorf("%d at %d, want 15 at 101", n, when)
	}
	b.finished[0].Add(7)
	if n, when := at(100, 105); n != 15 || when != 101 {
		t.Errorf("asked again: %d at %d, want 15 at 101", n, when)
	}
	leaveA(a)
	leaveA(a) // nothing more
	if n, when := at(200, 203); n != 22 || when != 203 {
		t.Errorf("after one left: %d at %d, want 22 at 203", n, when)
	}
	for border := int64(300); border < 300+censusMarks; border++ {
		at(border, border)
	}
	b.finished[0].Add(1)
	if n, _ := at(100, 400); n != 23 {
		t.Errorf("a border long ago: %d, want what is counted now, 23", n)
	}
	leaveB(b)
	if gs.of["1"] != nil {
		t.Error("kept though all have left")
	}
}
