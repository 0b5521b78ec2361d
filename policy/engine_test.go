package policy

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// box is a mailbox with at most one heartbeat, and a search with nothing to
// look at.
type box struct {
	load    Load
	pending bool
	looks   int
}

func (b *box) Pending() bool { b.looks++; return b.pending }
func (b *box) Take() (Load, bool) {
	ok := b.pending
	b.pending = false
	return b.load, ok
}
func (b *box) Look(*Estimate) bool { return false }
func (b *box) put(l Load)          { b.load, b.pending = l, true }

// TestBusyServerIsOffloaded: heartbeats of a saturated server make clients
// with the paper's policy offload.
func TestBusyServerIsOffloaded(t *testing.T) {
	at := time.Unix(1000, 0)
	e := NewEngine(newBackoff(1, false), func() time.Time { return at }, nil)
	var m box
	offloaded := 0
	for i := range 1000 {
		at = at.Add(20 * time.Microsecond)
		if i%51 == 0 { // one a millisecond
			m.put(Load{CPU: 1, Interval: time.Millisecond})
		}
		if way, _, _ := e.Choose(&m, &m); way == Offload {
			offloaded++
		}
	}
	if offloaded < 500 {
		t.Errorf("%d of 1000 searches offloaded from a busy server", offloaded)
	}
}

// TestNew: every scheme's policy can be had without a client, the
// same seed decides the same, and a saturated server drives it away.
func TestNew(t *testing.T) {
	for _, name := range Schemes() {
		sch, err := SchemeByName(name)
		if err != nil {
			t.Fatal(err)
		}
		a, err := New(name, 7)
		if err != nil {
			t.Fatal(err)
		}
		b, err := New(name, 7)
		if err != nil {
			t.Fatal(err)
		}
		if a.Name() != sch.Name {
			t.Errorf("%s: the policy is called %q, the scheme %q", name, a.Name(), sch.Name)
		}
		at, offloaded := time.Unix(0, 0), 0
		clock := func() time.Time { return at }
		for i := range 1000 {
			at = at.Add(100 * time.Microsecond)
			load := Load{Seq: uint64(i / 101), CPU: 1, Interval: 10 * time.Millisecond}
			w, _ := a.Choose(clock, &load, i%101 == 100)
			if v, _ := b.Choose(clock, &load, i%101 == 100); v != w {
				t.Fatalf("%s: search %d went %v and %v with one seed", name, i, w, v)
			}
			offloaded += int(w)
		}
		switch sch.Name {
		case "tcp", "fast", "fast-polling":
			if offloaded != 0 {
				t.Errorf("%s offloaded %d searches", name, offloaded)
			}
		case "offload", "offload-single":
			if offloaded != 1000 {
				t.Errorf("%s offloaded %d of 1000 searches", name, offloaded)
			}
		default:
			if offloaded == 0 {
				t.Errorf("%s offloads nothing from a saturated server", name)
			}
		}
	}
	if _, err := New("quick", 1); !errors.Is(err, ErrScheme) {
		t.Errorf("unknown policy: %v", err)
	}
	if _, err := SchemeByName("quick"); !errors.Is(err, ErrScheme) {
		t.Errorf("unknown scheme: %v", err)
	}
}

// resting offloads while it rests, which it does at once, and learns
// otherwise.
type resting struct {
	until   time.Time
	chosen  int
	learned int
}

func (r *resting) Name() string { return "resting" }
func (r *resting) Choose(func() time.Time, *Load, bool) (Path, bool) {
	r.chosen++
	return FastMessaging, true
}
func (r *resting) State() State                     { return State{} }
func (r *resting) Observe(time.Time, Outcome)       { r.learned++ }
func (r *resting) Settled() (Path, bool)            { return Offload, true }
func (r *resting) Rest(now time.Time) time.Duration { return r.until.Sub(now) }

// TestRest: a policy that rests is not asked, and told nothing, until its
// rest ends, with or without heartbeats.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &resting{until: time.Now().Add(50 * time.Millisecond)}
		c, m := NewEngine(p, time.Now, nil), &box{}
		ask := func() Path {
			way, began, _ := c.Choose(m, m)
			c.Done(began, Outcome{Path: way, Searches: 1}, way)
			return way
		}
		if ask(); p.chosen != 1 || p.learned != 1 {
			t.Fatalf("asked %d times, told %d, want once", p.chosen, p.learned)
		}
		for range 100 {
			if w := ask(); w != Offload {
				t.Fatalf("went %v in a rest", w)
			}
		}
		time.Sleep(49 * time.Millisecond)
		if ask(); p.chosen != 1 || p.learned != 1 {
			t.Errorf("asked %d times, told %d, in its rest", p.chosen, p.learned)
		}
		time.Sleep(2 * time.Millisecond)
		// Its rest is over, which is noticed within eight searches, and it has
		// not said that there is another.
		for range beatLooks + 3 {
			ask()
		}
		if p.chosen < 4 || p.learned != p.chosen {
			t.Errorf("asked %d times, told %d after its rest, want 4 or more", p.chosen, p.learned)
		}
	})
}

// skipping is asked about one search in four.
type skipping struct {
	resting
	others int
	way    Path
}

func (s *skipping) Settled() (Path, bool)          { return FastMessaging, false }
func (s *skipping) Observe(_ time.Time, o Outcome) { s.learned++; s.others += o.Others }
func (s *skipping) Skip() (int, Path)              { return 3, s.way }

// TestSkip: a policy is not asked about what it skips, and told how many
// those were.
func TestSkip(t *testing.T) {
	for _, skipped := range []Path{FastMessaging, Offload} {
		p := &skipping{way: skipped}
		c, m := NewEngine(p, time.Now, nil), &box{}
		went := [2]int{}
		for range 41 {
			way, began, _ := c.Choose(m, m)
			went[way]++
			c.Done(began, Outcome{Path: way, Searches: 1}, way)
		}
		if p.chosen != 11 || p.learned != 11 || p.others != 30 || went[skipped] < 30 {
			t.Errorf("%v: asked about %d, told of %d and %d others, %d went that way; want 11, 11, 30 and 30",
				skipped, p.chosen, p.learned, p.others, went[skipped])
		}
	}
}

// TestMayHear: a policy that rests looks into the mailbox once in eight
// searches, also if they come in batches and never make a multiple of eight.
func TestMayHear(t *testing.T) {
	p := &resting{until: time.Now().Add(time.Hour)}
	c, m := NewEngine(p, time.Now, nil), &box{}
	looks := 0
	c.finished[0].Add(1)
	for range 80 {
		before := c.looked.Load()
		c.mayHear(m)
		if c.looked.Load() != before {
			looks++
		}
		c.finished[0].Add(2)
	}
	if looks != 159/beatLooks {
		t.Errorf("looked %d times in 159 searches, want %d", looks, 159/beatLooks)
	}
}
