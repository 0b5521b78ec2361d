package client

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// probe is a user's own policy: it alternates, and counts what it observes.
type probe struct {
	mu       sync.Mutex
	n        int
	beats    []uint64
	outcomes [2]int
	bad      string
}

func (p *probe) Plan(a *Ask) Plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.Fresh {
		if n := len(p.beats); n > 0 && p.beats[n-1] >= a.Load.Seq {
			p.bad = "a heartbeat came twice"
		}
		if a.Load.CPU < 0 || a.Load.CPU > 1 || a.Load.Interval != 2*time.Millisecond {
			p.bad = "impossible load"
		}
		p.beats = append(p.beats, a.Load.Seq)
	}
	p.n++
	return Plan{Share: float64(p.n % 2), Searches: 1}
}

func (p *probe) Observe(_ time.Time, o Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outcomes[o.Path]++
	if o.Took <= 0 || o.Results != 1 || (o.Reads > 0) != (o.Path == Offload) {
		p.bad = "impossible outcome"
	}
}

func (p *probe) Describe() Description {
	return Description{Name: "probe", State: PolicyState{Left: p.n}}
}

// TestCustomPolicy: a policy of the user's is asked for each search, and
// observes each of the server's heartbeats once, and the cost of searches.
func TestCustomPolicy(t *testing.T) {
	for i, tr := range append(slices.Clone(oneSided), oneSided...) {
		inRing := i >= len(oneSided)
		t.Run(fmt.Sprintf("%s/ring=%t", tr, inRing), func(t *testing.T) {
			s := startServer(t, server.Options{HeartbeatInterval: 2 * time.Millisecond, HeartbeatInRing: inRing})
			p := &probe{}
			c := dial(t, s, Options{Transport: tr, Custom: p})
			if err := c.Insert(t.Context(), square(0, 0), 1); err != nil {
				t.Fatal(err)
			}
			deadline := time.Now().Add(time.Minute)
			searches := 0
			for beats := 0; beats < 5; searches++ {
				if _, err := c.Search(t.Context(), square(0, 0)); err != nil {
					t.Fatal(err)
				}
				p.mu.Lock()
				beats = len(p.beats)
				p.mu.Unlock()
				if time.Now().After(deadline) {
					t.Fatalf("%d heartbeats in a minute", beats)
				}
			}
			if p.bad != "" {
				t.Error(p.bad)
			}
			if p.n != searches || p.outcomes[0]+p.outcomes[1] != searches || p.outcomes[0] == 0 || p.outcomes[1] == 0 {
				t.Errorf("%d searches, asked %d times, outcomes %v", searches, p.n, p.outcomes)
			}
			n := c.Counters()
			// One more heartbeat may have come since.
			if n.Heartbeats < uint64(len(p.beats)) || n.Policy.Left != p.n || c.Info().Policy != "probe" {
				t.Errorf("%+v", n)
			}
		})
	}
}

// TestPaperSearches: a client with the paper's policy searches.
func TestPaperSearches(t *testing.T) {
	s := startServer(t, server.Options{HeartbeatInterval: time.Millisecond})
	c := dial(t, s, Options{Transport: model.TransportSHM, Policy: "paper"})
	for range 50 {
		if _, err := c.Search(t.Context(), square(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRetrySafe(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false}, {model.ErrNoServer, true}, {model.ErrNotSent, true}, {model.ErrUnknownOutcome, false},
		{errors.Join(model.ErrNotSent, model.ErrClosed), true}, {rstar.ErrSlabFull, true}, {&wire.PartlyDone{Done: 1, Err: rstar.ErrSlabFull}, false}, {model.ErrProtocol, false},
		{model.ErrBusy, true}, {model.ErrNotReady, true}, {model.ErrRestarted, true}, {model.ErrOption, true},
	} {
		if got := RetrySafe(c.err); got != c.want {
			t.Errorf("RetrySafe(%v) = %v", c.err, got)
		}
	}
}

// TestPollingOnRequest: a client of a polling scheme keeps its worker from
// sleeping; after the client disconnects, the worker sleeps again.
func TestPollingOnRequest(t *testing.T) {
	for _, p := range pollingPaths() {
		tr := p.transport
		s := startServer(t, server.Options{Workers: 1, Transports: []string{tr}, HeartbeatInterval: time.Second})
		sleeps := func() uint64 { return s.Stats().Transports[0].Workers[0].Sleeps }
		c := dial(t, s, p.options())
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
			t.Errorf("%s: the polling worker slept %d times", p.name, n-before)
		}
		if i := c.Info(); i.Policy != p.policy || i.Transport != tr {
			t.Errorf("%+v", i)
		}
		c.Close()
		deadline := time.Now().Add(time.Minute)
		for sleeps() == before {
			if time.Now().After(deadline) {
				t.Fatalf("%s: the worker polls on after its client left", p.name)
			}
			runtime.Gosched()
		}
	}
}

// TestPolicyTCP: policy tcp means plain sockets under any transport, and
// says so.
func TestPolicyTCP(t *testing.T) {
	s := startServer(t, server.Options{})
	for _, tr := range []string{"", model.TransportSHM, model.TransportSoft, model.TransportTCP} {
		c := dial(t, s, Options{Transport: tr, Policy: "tcp"})
		if i := c.Info(); i.Transport != model.TransportTCP || i.Reason != "policy tcp is plain sockets" {
			t.Errorf("%q: %+v", tr, i)
		}
	}
}
