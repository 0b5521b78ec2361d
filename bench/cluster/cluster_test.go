package cluster

import (
	"testing"
	"time"
)

// What is not as it was written is lost, and a summary with it is not good.
func TestGood(t *testing.T) {
	good := Summary{Acknowledged: 7, Unknown: 2}
	if !good.Good() {
		t.Errorf("%+v", good)
	}
	for _, bad := range []Summary{{Lost: 1}, {Doubled: 1}, {Invented: 1}, {Wrong: 1}} {
		if bad.Good() {
			t.Errorf("%+v is good", bad)
		}
	}
}

// The gap is the longest one that ends after the kill, not one before.
func TestGap(t *testing.T) {
	var acks []time.Time
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	for _, ms := range []int{0, 5000, 5010, 5020, 5700, 5710, 6000} {
		acks = append(acks, at(ms))
	}
	if last, first := gap(acks, at(5030)); !last.Equal(at(5020)) || !first.Equal(at(5700)) {
		t.Errorf("from %v to %v", last, first)
	}
	if _, first := gap(acks, at(7000)); !first.IsZero() {
		t.Errorf("a write after the kill: %v", first)
	}
	if n := between(acks, at(5000), at(5700)); n != 3 {
		t.Errorf("%d, want 3", n)
	}
}
