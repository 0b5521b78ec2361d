package policy

import (
	"math/rand/v2"
	"testing"
	"time"
)

// stepper drives a policy on a fake clock, as the chooser does.
type stepper struct {
	t     *testing.T
	p     *backoff
	now   time.Time
	load  Load
	fresh bool
}

func newStepper(t *testing.T, literal bool) *stepper {
	return &stepper{t: t, p: newBackoff(7, literal), now: time.Unix(1000, 0), load: Load{Interval: 10 * time.Millisecond}}
}

// beat lets a heartbeat arrive, more than one interval after the last.
func (s *stepper) beat(cpu float64) {
	s.now = s.now.Add(s.load.Interval + time.Microsecond)
	s.load.CPU, s.fresh = cpu, true
	s.load.Seq++
}

func (s *stepper) choose() Path {
	way, consumed := s.p.Choose(func() time.Time { return s.now }, &s.load, s.fresh)
	if consumed {
		s.fresh = false
	}
	s.now = s.now.Add(time.Microsecond)
	return way
}

func (s *stepper) want(left, busy int) {
	s.t.Helper()
	if s.p.left != left || s.p.busy != busy {
		s.t.Fatalf("r_off = %d, r_busy = %d, want %d, %d", s.p.left, s.p.busy, left, busy)
	}
}

// draws repeats the policy's random numbers: rand()%N.
func draws() *rand.Rand { return newBackoff(7, false).rand }

// TestBackoffIntended walks through Algorithm 1 as the text means it:
// each fresh busy heartbeat that finds the last window (nearly) used up
// adds N to the window; searches in between only use it up.
func TestBackoffIntended(t *testing.T) {
	s, r := newStepper(t, false), draws()
	// No heartbeat: fast messaging, however long.
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
		s.want(0, busy) // the count stays until a heartbeat says otherwise
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
		s.load.CPU, s.fresh = 1, true
		if w := s.choose(); w != FastMessaging || !s.fresh || s.p.busy != 0 {
			t.Fatalf("literal %v: %v, fresh %v, r_busy %d", literal, w, s.fresh, s.p.busy)
		}
		s.now = s.now.Add(10 * time.Millisecond)
		s.choose()
		if s.fresh || s.p.busy != 1 {
			t.Fatalf("literal %v: not judged when due: fresh %v, r_busy %d", literal, s.fresh, s.p.busy)
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
// r_busy*N searches are left to offload clears r_busy and leaves the
// window alone, in both readings.
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

func TestSchemes(t *testing.T) {
	for _, name := range Schemes() {
		sch, err := schemeByName(name)
		if err != nil {
			t.Fatal(err)
		}
		p := sch.policy(1)
		want := name
		if name == "default" {
			want = Default
		}
		if p.Name() != want || DescribeScheme(name) == "" {
			t.Errorf("%s: policy %q, described %q", name, p.Name(), DescribeScheme(name))
		}
	}
	if _, err := schemeByName("fastest"); err == nil {
		t.Error("unknown policy taken")
	}
}

// TestSettledChangesNothing: a chooser that does not ask a settled policy
// decides as one that always asks, whatever the heartbeats.
func TestSettledChangesNothing(t *testing.T) {
	for _, literal := range []bool{false, true} {
		r := rand.New(rand.NewPCG(5, 6))
		now := time.Unix(1000, 0)
		clock := func() time.Time { return now }
		quick := NewEngine(newBackoff(9, literal), clock, nil)
		slow := NewEngine(newBackoff(9, literal), clock, nil)
		slow.settler = nil
		var m [2]box
		settled, offloads := 0, 0
		for i := range 200_000 {
			now = now.Add(time.Duration(r.IntN(200)) * time.Microsecond)
			if r.IntN(60) == 0 { // a heartbeat, sometimes within Inv of the last
				load := Load{CPU: 0.9 + 0.1*r.Float64(), Interval: 10 * time.Millisecond}
				m[0].put(load)
				m[1].put(load)
			}
			if quick.settled.Load() != 0 {
				settled++
			}
			a, _, _ := quick.Choose(&m[0], &m[0])
			b, _, _ := slow.Choose(&m[1], &m[1])
			if a != b || quick.policy.State() != slow.policy.State() {
				t.Fatalf("literal %v, search %d: %v in %+v, asked always %v in %+v",
					literal, i, a, quick.policy.State(), b, slow.policy.State())
			}
			if a == Offload {
				offloads++
			}
		}
		if settled < 1000 || offloads < 1000 {
			t.Errorf("literal %v: %d settled and %d offloaded of 200,000: nothing was tried", literal, settled, offloads)
		}
	}
}
