package replica

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestStrange: whatever messages come, a member takes back nothing published, and grants
// no lease beyond its time.
func TestStrange(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		number := func() uint64 {
			switch r.IntN(8) {
			case 0:
				return r.Uint64()
			case 1:
				return ^uint64(0)
			}
			return r.Uint64N(6)
		}
		history := func() (h History) {
			for range r.IntN(4) {
				h = append(h, Span{number(), number()})
			}
			return h
		}
		now := time.Second
		m := lone(t, 1)
		if r.IntN(2) == 0 { // a follower, in a session
			m.Step(now, Learned{Config{Version: 7, Term: 3, Primary: 0, InSync: SetOf(0), Members: SetOf(0, 1)}}, nil)
		}
		published := m.Status().Committed
		for range 300 {
			now += time.Duration(r.IntN(int(DefaultOptions.Lease)))
			term, session := 2+number()%3, number()
			if r.IntN(2) == 0 {
				term = m.cfg.Term
			}
			if r.IntN(2) == 0 {
				session = m.session
			}
			entries := make([]Entry, r.IntN(4))
			for i := range entries {
				entries[i] = Entry{Term: number() % 4, Client: number() % 3, Number: number()}
			}
			events := []Event{
				Receive{0, &Hello{term, session, number(), history()}},
				Receive{0, &Ack{term, session, number(), number(), number(), time.Duration(number())}},
				Receive{0, &Frame{term, session, r.IntN(2) == 0, number(), number(), entries, number(), time.Duration(number())}},
				Receive{ID(r.IntN(256)), &CopyFirst{term, session}},
				Receive{ID(r.IntN(256)), &Ack{Term: term, Session: session}},
				Propose{entries}, Tick{}, Synced{m.end},
			}
			for _, a := range m.Step(now, events[r.IntN(len(events))], nil) {
				switch a := a.(type) {
				case Publish:
					published = a.Through
				case Truncate:
					if a.After < published {
						t.Fatalf("seed %d: %d is published, and what is after %d is taken back", seed, published, a.After)
					}
				case Grant:
					if a.Lease.Until > now+DefaultOptions.Lease {
						t.Fatalf("seed %d: at %v a lease until %v", seed, now, a.Lease.Until)
					}
				}
			}
			if s := m.Status(); s.Committed > s.End || s.Durable > s.End {
				t.Fatalf("seed %d: %+v", seed, s)
			}
		}
	}
}
