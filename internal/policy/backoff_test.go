package policy

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// stepper drives a policy on a fake clock.
type stepper struct {
	t    *testing.T
	p    *backoff
	e    *Engine
	box  box
	now  time.Time
	load Load
}

func newStepper(t *testing.T, literal bool) *stepper {
	s := &stepper{t: t, p: newBackoff(7, Backoff{}, literal), now: time.Unix(1000, 0), load: Load{Interval: 10 * time.Millisecond}}
	s.e = NewEngine(s.p, 1, func() time.Time { return s.now }, nil)
	return s
}

// beat lets a heartbeat arrive, more than one interval after the last.
func (s *stepper) beat(cpu float64) {
	s.now = s.now.Add(s.load.Interval + time.Microsecond)
	s.load.CPU = cpu
	s.load.Seq++
	s.box.put(s.load)
}

func (s *stepper) choose() Path {
	path, _ := s.e.Choose(&s.box, &s.box)
	s.now = s.now.Add(time.Microsecond)
	return path
}

// want checks r_off and r_busy as they would be if the policy were asked now.
func (s *stepper) want(left, busy int) {
	s.t.Helper()
	p := *s.p
	begun := s.e.begun + int(s.e.granted-s.e.left.Load())
	p.left = max(p.left-begun, 0)
	if p.literal && begun > 1 {
		p.busy = 0
	}
	if p.left != left || p.busy != busy {
		s.t.Fatalf("r_off = %d, r_busy = %d, want %d, %d", p.left, p.busy, left, busy)
	}
}

// draws repeats the policy's random numbers: rand()%N.
func draws() *rand.Rand { return newBackoff(7, Backoff{}, false).rand }

// TestBackoffIntended walks through Algorithm 1 as the text means it:
// each fresh busy heartbeat that finds the last window (nearly) used up
// adds N to the window; searches in between only use it up.
func TestBackoffIntended(t *testing.T) {
	s, r := newStepper(t, false), draws()
	// No heartbeat: fast messaging, without a limit.
	for range 100 {
		if w := s.choose(); w != FastMessaging {
			t.Fatalf("without a heartbeat: %v", w)
		}
	}
	left := 0
	for busy := 1; busy <= 6; busy++ {
		s.beat(0.99)
		left = r.IntN(8) + (busy-1)*8
		w := s.choose()
		if want := FastMessaging; left == 0 {
			if w != want {
				t.Fatalf("window 0: %v", w)
			}
		} else if left--; w != Offload {
			t.Fatalf("busy %d times, window %d: %v", busy, left+1, w)
		}
		s.want(left, busy)
		for left > 0 {
			if w := s.choose(); w != Offload {
				t.Fatalf("window %d left: %v", left, w)
			}
			left--
			s.want(left, busy)
		}
		if w := s.choose(); w != FastMessaging {
			t.Fatalf("window used up: %v", w)
		}
		s.want(0, busy) // the count stays until a heartbeat changes it
	}
	s.beat(0.5)
	if w := s.choose(); w != FastMessaging {
		t.Fatalf("server idle again: %v", w)
	}
	s.want(0, 0)
}

// TestBackoffLiteral: to the letter, the first search without a fresh
// heartbeat clears r_busy, so that the window never exceeds N-1.
func TestBackoffLiteral(t *testing.T) {
	s, r := newStepper(t, true), draws()
	for range 20 {
		s.beat(0.99)
		left := r.IntN(8)
		w := s.choose()
		if left > 0 {
			left--
			if w != Offload {
				t.Fatalf("window %d: %v", left+1, w)
			}
		}
		s.want(left, 1)
		for left > 0 {
			if w := s.choose(); w != Offload {
				t.Fatalf("window %d left: %v", left, w)
			}
			left--
			s.want(left, 0)
		}
		if w := s.choose(); w != FastMessaging {
			t.Fatalf("window used up: %v", w)
		}
		s.want(0, 0)
	}
}

// TestBackoffTakesOneBeatPerInterval: a heartbeat within Inv of the last
// one taken waits; it is neither judged nor lost.
func TestBackoffTakesOneBeatPerInterval(t *testing.T) {
	for _, literal := range []bool{false, true} {
		s := newStepper(t, literal)
		s.beat(0.5)
		s.choose()
		s.now = s.now.Add(time.Millisecond) // well within 10 ms
		s.load.CPU = 1
		s.box.put(s.load)
		if w := s.choose(); w != FastMessaging || s.p.busy != 0 {
			t.Fatalf("literal %v: %v, r_busy %d", literal, w, s.p.busy)
		}
		s.now = s.now.Add(10 * time.Millisecond)
		s.choose()
		if s.p.busy != 1 {
			t.Fatalf("literal %v: not judged when due: r_busy %d", literal, s.p.busy)
		}
	}
}

// TestBackoffThreshold: T itself is not busy.
func TestBackoffThreshold(t *testing.T) {
	for _, c := range []struct {
		cpu  float64
		busy int
	}{{0.949, 0}, {0.95, 0}, {0.951, 1}, {1, 1}} {
		s := newStepper(t, false)
		s.beat(c.cpu)
		s.choose()
		if s.p.busy != c.busy {
			t.Errorf("utilisation %v: r_busy = %d, want %d", c.cpu, s.p.busy, c.busy)
		}
	}
}

// TestBackoffLargeWindowLeft: a busy heartbeat that comes while more than
// r_busy*N searches are left to offload clears r_busy and does not change
// the window, in both readings.
func TestBackoffLargeWindowLeft(t *testing.T) {
	for _, literal := range []bool{false, true} {
		s := newStepper(t, literal)
		s.p.busy, s.p.left = 1, 9
		s.beat(1)
		if w := s.choose(); w != Offload {
			t.Fatal(w)
		}
		s.want(8, 0)
	}
}

// TestBackoffParametersDecide: N is the width of a step of the window, T the utilisation
// that the server must exceed, and Describe explains a judgement with this T.
func TestBackoffParametersDecide(t *testing.T) {
	for _, c := range []struct {
		with Backoff
		cpu  float64
		busy int
	}{
		{Backoff{T: 0.8}, 0.8, 0}, {Backoff{T: 0.8}, 0.81, 1}, {Backoff{T: 1}, 1, 0}, {Backoff{N: 100}, 0.96, 1},
	} {
		for _, literal := range []bool{false, true} {
			s := newStepper(t, literal)
			s.p = newBackoff(7, c.with, literal)
			s.e = NewEngine(s.p, 1, func() time.Time { return s.now }, nil)
			s.beat(c.cpu)
			s.choose()
			if s.p.busy != c.busy {
				t.Errorf("%v, utilisation %v: r_busy = %d, want %d", c.with, c.cpu, s.p.busy, c.busy)
			}
			threshold := fmt.Sprintf("the threshold is %.0f %%", 100*c.with.WithDefaults().T)
			if why := s.e.Why(); !strings.Contains(why, threshold) {
				t.Errorf("%v: %q", c.with, why)
			}
		}
	}
	s := newStepper(t, false)
	s.p.N = 100
	for busy := 1; busy <= 5; busy++ {
		s.p.left = 0
		s.beat(1)
		s.choose()
		begun := s.e.begun + int(s.e.granted-s.e.left.Load())
		if left := s.p.left; s.p.busy != busy || left < 100*(busy-1) || left >= 100*busy || begun != 1 {
			t.Fatalf("busy %d times: a window of %d, want %d to %d", busy, left, 100*(busy-1), 100*busy-1)
		}
	}
}

// TestBackoffString: a percentage has no digits from binary rounding.
func TestBackoffString(t *testing.T) {
	if got, want := (Backoff{T: 0.07}).String(), "N = 8, T = 7 %, predictor latest"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
