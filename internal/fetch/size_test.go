package fetch

import "testing"

// TestSize: what is read follows what came: half as much again after a filled Read, slowly less
// after others, and all that is missing of an answer.
func TestSize(t *testing.T) {
	s := NewSize(4, 100)
	for i, step := range []struct {
		missing, asks, brought int
		more                   bool
	}{
		{0, 4, 4, true}, {0, 6, 0, true}, {0, 6, 6, false}, {0, 6, 6, true}, {0, 9, 3, true}, {3, 8, 8, true}, {0, 12, 1, false},
		{60, 60, 60, true}, {0, 11, 11, true}, {0, 17, 17, true}, {0, 26, 25, true}, {0, 25, 25, true}, {0, 38, 38, true}, {0, 57, 57, true},
		{0, 86, 86, true}, {200, 100, 40, false}, {0, 88, 1, false},
	} {
		if got := s.Read(step.missing); got != step.asks {
			t.Fatalf("step %d: reads %d, want %d", i, got, step.asks)
		}
		s.Brought(step.asks, step.brought, step.more)
	}
	for range 200 {
		s.Brought(s.Read(0), 2, false)
	}
	if got := s.Read(0); got != 2 {
		t.Errorf("answers of 2 units: reads %d", got)
	}
}

// TestFixedSize: a fixed size stays, and the rest of an answer is read exactly.
func TestFixedSize(t *testing.T) {
	s := FixedSize(36, 1000)
	for _, brought := range []int{36, 36, 0, 7} {
		if got := s.Read(0); got != 36 {
			t.Fatalf("reads %d, want 36", got)
		}
		s.Brought(36, brought, true)
	}
	if a, b, c := s.Read(1), s.Read(90), s.Read(5000); a != 1 || b != 90 || c != 1000 {
		t.Errorf("of 1, 90, 5000 missing units: reads %d, %d, %d", a, b, c)
	}
}

func TestTries(t *testing.T) {
	n := Tries{Limit: 2}
	n.Vain()
	if n.Late() || !n.InVain() {
		t.Error("one of two: late, or not in vain")
	}
	n.Found()
	n.Vain()
	if n.Late() {
		t.Error("one after another answer: late")
	}
	if n.Vain(); !n.Late() {
		t.Error("two of two: not late")
	}
	var none Tries
	for range 100 {
		none.Vain()
	}
	if none.Late() {
		t.Error("late without a limit")
	}
}
