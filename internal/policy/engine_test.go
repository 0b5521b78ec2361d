package policy

import (
	"errors"
	"testing"
	"time"
)

// box is a mailbox with at most one heartbeat, and a search without an
// estimate.
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
func (b *box) Estimate(*Estimate) bool { return false }
func (b *box) put(l Load)              { b.load, b.pending = l, true }

// scripted is a policy with one plan, and notes its questions.
type scripted struct {
	plan     Plan
	last     time.Duration // length of a plan, if above 0: sets Until
	asks     []Ask
	outcomes []Outcome
}

func (s *scripted) Plan(a *Ask) Plan {
	s.asks = append(s.asks, *a)
	p := s.plan
	if s.last > 0 {
		p.Until = a.Now.Add(s.last)
	}
	return p
}
func (s *scripted) Describe() Description          { return Description{Name: "scripted"} }
func (s *scripted) Observe(_ time.Time, o Outcome) { s.outcomes = append(s.outcomes, o) }

// searches makes n searches of the given duration, and returns how many were
// offloaded.
func searches(e *Engine, m *box, at *time.Time, n int, takes time.Duration) (offloaded int) {
	for range n {
		p, began := e.Choose(m, m)
		*at = at.Add(takes)
		e.Done(began, Outcome{Path: p, Searches: 1}, p)
		offloaded += int(p)
	}
	return offloaded
}

func newScripted(s *scripted) (*Engine, *box, *time.Time) {
	at := time.Unix(1000, 0)
	return NewEngine(s, 1, func() time.Time { return at }, nil), &box{}, &at
}

// TestPlanOfSearches: a plan for n searches covers exactly n.
func TestPlanOfSearches(t *testing.T) {
	s := &scripted{plan: Plan{Share: 1, Searches: 7}}
	e, m, at := newScripted(s)
	if n := searches(e, m, at, 71, us); n != 71 {
		t.Errorf("%d of 71 offloaded", n)
	}
	if len(s.asks) != 11 || s.asks[0].Begun != 0 || s.asks[10].Begun != 7 {
		t.Errorf("asked %d times, the last after %d searches", len(s.asks), s.asks[len(s.asks)-1].Begun)
	}
	if len(s.outcomes) != 11 {
		t.Errorf("%d outcomes observed, want one for each plan", len(s.outcomes))
	}
}

// TestPlanOfOne: a policy may be asked about every search.
func TestPlanOfOne(t *testing.T) {
	s := &scripted{plan: Plan{Searches: 1}}
	e, m, at := newScripted(s)
	searches(e, m, at, 100, us)
	if len(s.asks) != 100 || len(s.outcomes) != 100 || s.outcomes[7].Took != us {
		t.Errorf("asked %d times, %d outcomes", len(s.asks), len(s.outcomes))
	}
}

// TestPlanOfTime: a plan until a time ends soon after it, whatever the rate of
// searches, and the clock is looked at seldom.
func TestPlanOfTime(t *testing.T) {
	for _, takes := range []time.Duration{us, 10 * us, 100 * us, time.Millisecond, 30 * time.Millisecond} {
		s := &scripted{last: 10 * time.Millisecond}
		e, m, at := newScripted(s)
		n := int(time.Second / takes)
		searches(e, m, at, n, takes)
		want := min(100, n)
		if len(s.asks) < want*8/10 || len(s.asks) > want+1 {
			t.Errorf("searches of %v: asked %d times in a second, want some %d", takes, len(s.asks), want)
		}
		if looks := len(s.outcomes); looks > max(2*n/mostUnseen, 25*want) {
			t.Errorf("searches of %v: the clock was looked at %d times for %d searches", takes, looks, n)
		}
		late := time.Duration(0)
		for i := 1; i < len(s.asks); i++ {
			late = max(late, s.asks[i].Now.Sub(s.asks[i-1].Now)-s.last)
		}
		if most := max(s.last/looksPerPlan, mostUnseen*us, takes) + takes; late > most {
			t.Errorf("searches of %v: a plan of %v ended %v late, want %v", takes, s.last, late, most)
		}
	}
}

// TestPlanOfSlowedClient: a client that becomes slow looks at the clock
// after 64 searches at the latest.
func TestPlanOfSlowedClient(t *testing.T) {
	s := &scripted{last: 10 * time.Millisecond}
	e, m, at := newScripted(s)
	searches(e, m, at, 100_000, us)
	n := len(s.asks)
	searches(e, m, at, mostUnseen+1, time.Second)
	if len(s.asks) == n {
		t.Error("not asked in 65 searches of a second each")
	}
}

// TestPlanUntilHeartbeat: the first search after a heartbeat asks, and no
// other; without Plan.Heartbeat a plan outlasts heartbeats.
func TestPlanUntilHeartbeat(t *testing.T) {
	s := &scripted{plan: Plan{Heartbeat: true}}
	e, m, at := newScripted(s)
	searches(e, m, at, 1000, us)
	m.put(Load{Seq: 5, CPU: 0.5})
	searches(e, m, at, 1000, us)
	if len(s.asks) != 2 || !s.asks[1].Fresh || s.asks[1].Load.Seq != 5 || s.asks[1].Begun != 1000 {
		t.Errorf("asked %d times: %+v", len(s.asks), s.asks)
	}
	if e.Heartbeats() != 1 {
		t.Errorf("%d heartbeats", e.Heartbeats())
	}
	s = &scripted{plan: Plan{Searches: 500}}
	e, m, at = newScripted(s)
	m.put(Load{Seq: 1})
	searches(e, m, at, 400, us)
	m.put(Load{Seq: 2})
	searches(e, m, at, 200, us)
	if len(s.asks) != 2 || !s.asks[0].Fresh || s.asks[1].Load.Seq != 2 {
		t.Errorf("asked %d times: %+v", len(s.asks), s.asks)
	}
	if load, _ := e.Last(m); load.Seq != 2 {
		t.Errorf("the last heartbeat is %d", load.Seq)
	}
}

// TestLastEndsPlan: a heartbeat that is taken for display also ends a plan that
// ends with a heartbeat.
func TestLastEndsPlan(t *testing.T) {
	s := &scripted{plan: Plan{Heartbeat: true}}
	e, m, at := newScripted(s)
	searches(e, m, at, 5, us)
	m.put(Load{Seq: 1})
	e.Last(m)
	searches(e, m, at, 1000, us)
	if len(s.asks) != 2 || !s.asks[1].Fresh || s.asks[1].Begun != 5 {
		t.Errorf("asked %d times: %+v", len(s.asks), s.asks)
	}
}

// TestPlanWithoutLimit: a plan without a limit is asked for once, and costs nothing.
func TestPlanWithoutLimit(t *testing.T) {
	for _, share := range []float64{0, 1} {
		s := &scripted{plan: Plan{Share: share}}
		e, m, at := newScripted(s)
		if n := searches(e, m, at, 1000, us); n != 1000*int(share) || len(s.asks) != 1 || m.looks > 1 {
			t.Errorf("%d offloaded, asked %d times, %d looks at the mailbox", n, len(s.asks), m.looks)
		}
	}
}

// TestShare: each search is sampled independently.
func TestShare(t *testing.T) {
	for _, share := range []float64{0.001, 0.03, 0.5, 0.97} {
		s := &scripted{plan: Plan{Share: share}, last: 10 * time.Millisecond}
		e, m, at := newScripted(s)
		const n = 200_000
		got := float64(searches(e, m, at, n, us)) / n
		if d := got - share; d < -0.004 || d > 0.004 {
			t.Errorf("%.4f offloaded, want %v", got, share)
		}
	}
}

// TestNoGarbage: neither a search nor a new plan makes any.
func TestNoGarbage(t *testing.T) {
	at := time.Unix(1000, 0)
	for _, name := range Schemes() {
		sch, err := SchemeByName(name)
		if err != nil {
			t.Fatal(err)
		}
		g := NewGroup()
		e, m := NewEngine(sch.New(1, g, Backoff{}), 1, func() time.Time { return at }, g), &box{}
		i := 0
		if n := testing.AllocsPerRun(10_000, func() {
			if i++; i%100 == 0 {
				m.put(Load{Seq: uint64(i), CPU: 1, Interval: 10 * time.Millisecond})
			}
			searches(e, m, &at, 1, 100*us)
		}); n != 0 {
			t.Errorf("%s: %v allocations a search", name, n)
		}
	}
}

// TestGroup: the searches of all clients are counted together, also those of
// closed clients; two Groups share nothing.
func TestGroup(t *testing.T) {
	var gs Groups
	one, leaveA := gs.Join("1")
	two, leaveB := gs.Join("1")
	other, leaveC := gs.Join("2")
	if one != two || other == one {
		t.Error("clients of one server are not one group, or those of two are")
	}
	if far, _ := new(Groups).Join("1"); far == one {
		t.Error("clients of two handles are one group")
	}
	a, b := NewEngine(fixed{}, 1, time.Now, one), NewEngine(fixed{}, 2, time.Now, two)
	a.Done(time.Time{}, Outcome{Searches: 10}, FastMessaging)
	b.Done(time.Time{}, Outcome{Searches: 5}, Offload)
	a.Close()
	a.Close() // nothing more
	leaveA()
	leaveA()
	b.Done(time.Time{}, Outcome{Searches: 7}, FastMessaging)
	if n := two.Finished(); n != 22 {
		t.Errorf("%d finished, want 22", n)
	}
	b.Close()
	leaveB()
	leaveC()
	if n := len(gs.of); n != 0 {
		t.Errorf("%d groups though all have left", n)
	}
}

// TestSchemes: every scheme's policy works without a client, equal seeds
// decide equally, and a saturated server makes the paper's offload.
func TestSchemes(t *testing.T) {
	for _, name := range Schemes() {
		sch, err := SchemeByName(name)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(0, 0)
		var runs [2][]Path
		for i := range runs {
			at = time.Unix(0, 0)
			g := NewGroup()
			e, m := NewEngine(sch.New(7, g, Backoff{}), 7, func() time.Time { return at }, g), &box{}
			if got := e.Policy(); got != sch.Name || sch.Doc == "" || DescribeScheme(name) != sch.Doc {
				t.Errorf("%s: policy %q of scheme %q, %q", name, got, sch.Name, sch.Doc)
			}
			for n := range 1000 {
				if n%101 == 100 {
					m.put(Load{Seq: uint64(n / 101), CPU: 1, Interval: 10 * time.Millisecond})
				}
				p, began := e.Choose(m, m)
				at = at.Add(100 * us)
				e.Done(began, Outcome{Path: p, Searches: 1}, p)
				runs[i] = append(runs[i], p)
			}
		}
		offloaded := 0
		for i := range runs[0] {
			if runs[0][i] != runs[1][i] {
				t.Fatalf("%s: search %d went by %v and %v with one seed", name, i, runs[0][i], runs[1][i])
			}
			offloaded += int(runs[0][i])
		}
		switch sch.Name {
		case "tcp", "fast", "fetch", "fast-polling", "farm", "fast-polling-cq":
			if offloaded != 0 {
				t.Errorf("%s offloaded %d searches", name, offloaded)
			}
		case "offload", "offload-single", "offload-cached":
			if offloaded != 1000 {
				t.Errorf("%s offloaded %d of 1000 searches", name, offloaded)
			}
		default:
			if offloaded == 0 {
				t.Errorf("%s offloads nothing from a saturated server", name)
			}
		}
	}
	if _, err := SchemeByName("quick"); !errors.Is(err, ErrScheme) {
		t.Errorf("unknown scheme: %v", err)
	}
}
