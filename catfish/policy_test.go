package catfish

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/rstar"
)

// probe is a user's own policy: it alternates and notes what it is told.
type probe struct {
	mu       sync.Mutex
	n        int
	beats    []uint64
	outcomes [2]int
	bad      string
}

func (p *probe) Name() string { return "probe" }

func (p *probe) Choose(_ func() time.Time, load *Load, fresh bool) (Way, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if fresh {
		if n := len(p.beats); n > 0 && p.beats[n-1] >= load.Seq {
			p.bad = "a heartbeat came twice"
		}
		if load.CPU < 0 || load.CPU > 1 || load.Interval != 2*time.Millisecond {
			p.bad = "impossible load"
		}
		p.beats = append(p.beats, load.Seq)
	}
	p.n++
	return Way(p.n % 2), fresh
}

func (p *probe) Observe(_ time.Time, o Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outcomes[o.Way]++
	if o.Took <= 0 || o.Results != 1 || (o.Reads > 0) != (o.Way == Offload) {
		p.bad = "impossible outcome"
	}
}

func (p *probe) State() PolicyState { return PolicyState{Left: p.n} }

// TestCustomPolicy: a policy of the user's is asked for each search, gets
// the server's heartbeats, each once, and hears what searches cost.
func TestCustomPolicy(t *testing.T) {
	for _, tr := range oneSided {
		t.Run(tr, func(t *testing.T) {
			s := startServer(t, ServerOptions{HeartbeatInterval: 2 * time.Millisecond})
			p := &probe{}
			c := dial(t, s, Options{Transport: tr, Custom: p})
			if err := c.Insert(t.Context(), square(0, 0), 1); err != nil {
				t.Fatal(err)
			}
			deadline := time.Now().Add(20 * time.Second)
			searches := 0
			for beats := 0; beats < 5; searches++ {
				if _, err := c.Search(t.Context(), square(0, 0)); err != nil {
					t.Fatal(err)
				}
				p.mu.Lock()
				beats = len(p.beats)
				p.mu.Unlock()
				if time.Now().After(deadline) {
					t.Fatalf("%d heartbeats in 20 s", beats)
				}
			}
			if p.bad != "" {
				t.Error(p.bad)
			}
			if p.n != searches || p.outcomes[0]+p.outcomes[1] != searches || p.outcomes[0] == 0 || p.outcomes[1] == 0 {
				t.Errorf("%d searches, asked %d times, outcomes %v", searches, p.n, p.outcomes)
			}
			n := c.Counters()
			// One more may have come since.
			if n.Heartbeats < uint64(len(p.beats)) || n.Policy.Left != p.n || c.Info().Policy != "probe" {
				t.Errorf("%+v", n)
			}
		})
	}
}

// TestBusyServerIsOffloaded: heartbeats of a saturated server make
// clients with the paper's policy offload; without beats they do not.
func TestBusyServerIsOffloaded(t *testing.T) {
	s := startServer(t, ServerOptions{HeartbeatInterval: time.Millisecond})
	c := dial(t, s, Options{Transport: TransportSHM, Policy: "paper"})
	for range 50 {
		if _, err := c.Search(t.Context(), square(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	// The server's heartbeats are replaced by busy ones, as they would
	// arrive: what follows is the client's own doing.
	busy := &chooser{now: time.Now, policy: newBackoff(1, false)}
	at := time.Now()
	offloaded := 0
	var n counters
	ses := &session{}
	for i := range 1000 {
		at = at.Add(20 * time.Microsecond)
		busy.now = func() time.Time { return at }
		if i%51 == 0 { // one a millisecond
			busy.load, busy.fresh = Load{CPU: 1, Interval: time.Millisecond}, true
		}
		if way, _ := busy.choose(ses, &n, &query{}, &slab{}); way == Offload {
			offloaded++
		}
	}
	if offloaded < 500 {
		t.Errorf("%d of 1000 searches offloaded from a busy server", offloaded)
	}
}

func TestRetrySafe(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false}, {ErrNoServer, true}, {ErrNotSent, true}, {ErrUnknownOutcome, false},
		{errors.Join(ErrNotSent, ErrClosed), true}, {rstar.ErrSlabFull, false}, {ErrProtocol, false},
	} {
		if got := RetrySafe(c.err); got != c.want {
			t.Errorf("RetrySafe(%v) = %v", c.err, got)
		}
	}
}

// TestPollingOnRequest: a client with fast-polling keeps its worker from
// sleeping; when it leaves, the worker sleeps again.
func TestPollingOnRequest(t *testing.T) {
	for _, tr := range oneSided {
		s := startServer(t, ServerOptions{Workers: 1, Transports: []string{tr}, HeartbeatInterval: time.Second})
		sleeps := func() uint64 { return s.Stats().Transports[0].Workers[0].Sleeps }
		c := dial(t, s, Options{Transport: tr, Policy: "fast-polling"})
		if _, err := c.Search(t.Context(), square(0, 0)); err != nil {
			t.Fatal(err)
		}
		before := sleeps()
		for range 50 {
			if _, err := c.Search(t.Context(), square(0, 0)); err != nil {
				t.Fatal(err)
			}
		}
		if n := sleeps(); n != before {
			t.Errorf("%s: the polling worker slept %d times", tr, n-before)
		}
		if i := c.Info(); i.Policy != "fast-polling" || i.Transport != tr {
			t.Errorf("%+v", i)
		}
		c.Close()
		deadline := time.Now().Add(10 * time.Second)
		for sleeps() == before {
			if time.Now().After(deadline) {
				t.Fatalf("%s: the worker polls on after its client left", tr)
			}
			runtime.Gosched()
		}
	}
}

// TestPolicyTCP: policy tcp means plain sockets under any transport, and
// says so.
func TestPolicyTCP(t *testing.T) {
	s := startServer(t, ServerOptions{})
	for _, tr := range []string{"", TransportSHM, TransportSoft, TransportTCP} {
		c := dial(t, s, Options{Transport: tr, Policy: "tcp"})
		if i := c.Info(); i.Transport != TransportTCP || i.Reason != "policy tcp is plain sockets" {
			t.Errorf("%q: %+v", tr, i)
		}
	}
}

// TestNewPolicy: every scheme's policy can be had without a client, the
// same seed decides the same, and a saturated server drives it away.
func TestNewPolicy(t *testing.T) {
	for _, name := range Schemes() {
		sch, err := SchemeByName(name)
		if err != nil {
			t.Fatal(err)
		}
		a, err := NewPolicy(name, 7)
		if err != nil {
			t.Fatal(err)
		}
		b, err := NewPolicy(name, 7)
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
	if _, err := NewPolicy("quick", 1); !errors.Is(err, ErrOption) {
		t.Errorf("unknown policy: %v", err)
	}
	if _, err := SchemeByName("quick"); !errors.Is(err, ErrOption) {
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
func (r *resting) Choose(func() time.Time, *Load, bool) (Way, bool) {
	r.chosen++
	return FastMessaging, true
}
func (r *resting) State() PolicyState               { return PolicyState{} }
func (r *resting) Observe(time.Time, Outcome)       { r.learned++ }
func (r *resting) Settled() (Way, bool)             { return Offload, true }
func (r *resting) Rest(now time.Time) time.Duration { return r.until.Sub(now) }

// TestRest: a policy that rests is not asked, and told nothing, until its
// rest ends, with or without heartbeats.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &resting{until: time.Now().Add(50 * time.Millisecond)}
		var c chooser
		var n counters
		c.init(scheme{}, Options{Custom: p})
		defer c.end()
		ask := func() Way {
			way, began := c.choose(&session{}, &n, &query{}, &slab{})
			c.observe(began, Outcome{Way: way})
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
		synctest.Wait()
		// Its rest is over, and it has not said that there is another.
		for range 3 {
			ask()
		}
		if p.chosen != 4 || p.learned != 4 {
			t.Errorf("asked %d times, told %d after its rest, want 4", p.chosen, p.learned)
		}
	})
}

// skipping is asked about one search in four.
type skipping struct {
	resting
	others int
	way    Way
}

func (s *skipping) Settled() (Way, bool)           { return FastMessaging, false }
func (s *skipping) Observe(_ time.Time, o Outcome) { s.learned++; s.others += o.Others }
func (s *skipping) Skip() (int, Way)               { return 3, s.way }

// TestSkip: a policy is not asked about what it skips, and told how many
// those were.
func TestSkip(t *testing.T) {
	for _, skipped := range []Way{FastMessaging, Offload} {
		p := &skipping{way: skipped}
		var c chooser
		var n counters
		c.init(scheme{}, Options{Custom: p})
		went := [2]int{}
		for range 41 {
			way, began := c.choose(&session{}, &n, &query{}, &slab{})
			went[way]++
			c.observe(began, Outcome{Way: way, Searches: 1})
		}
		c.end()
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
	var c chooser
	var n counters
	c.init(scheme{}, Options{Custom: p})
	defer c.end()
	looks := 0
	n.fast.Add(1)
	for range 80 {
		before := c.looked.Load()
		c.mayHear(&session{}, &n)
		if c.looked.Load() != before {
			looks++
		}
		n.fast.Add(2)
	}
	if looks != 159/beatLooks {
		t.Errorf("looked %d times in 159 searches, want %d", looks, 159/beatLooks)
	}
}
