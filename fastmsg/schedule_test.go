package fastmsg

import (
	"slices"
	"testing"
)

// TestSchedule: a connection is listed once, for the next turn, until its share
// of the turn ends; a connection touched after that is in the next turn.
func TestSchedule(t *testing.T) {
	var s schedule
	a, b, gone := &Conn{}, &Conn{}, &Conn{closed: true}
	begins := func(want ...*Conn) {
		t.Helper()
		if got := s.begin(); !slices.Equal(got, want) {
			t.Errorf("a turn of %d connections, want %d", len(got), len(want))
		}
	}
	s.touch(a)
	s.touch(b)
	s.touch(a)
	s.touch(gone)
	begins(a, b)
	s.touch(a) // Still to be finished: no second look.
	s.stall(b)
	s.stall(b)
	s.remove(a)
	s.touch(a)
	s.remove(b)
	s.end()
	if s.empty() {
		t.Error("what was touched after its share is forgotten")
	}
	begins(a)
	s.remove(a)
	s.end()
	if !s.empty() {
		t.Error("a connection that nobody touched is listed")
	}
	s.retryStalled()
	s.retryStalled()
	begins(b)
}
