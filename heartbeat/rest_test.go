package heartbeat

import (
	"testing"
	"time"
)

// asking is a target whose client makes requests on the test's command.
type asking struct {
	target
	requests uint64
}

func (a *asking) Arrived() uint64 { return a.requests }

// beats counts the heartbeats posted in ticks of 10 ms, from tick *at on.
func (a *asking) beats(s *Sender, at *int, ticks int, each func()) int {
	before := len(a.posted)
	for range ticks {
		if each != nil {
			each()
		}
		s.Tick(start.Add(time.Duration(*at) * 10 * time.Millisecond))
		*at++
	}
	return len(a.posted) - before
}

// TestRest: while others have requests, a connection without any gets a
// heartbeat a second, which states that interval, and from its next request
// one every 10 ms again.
func TestRest(t *testing.T) {
	src := &loadSource{}
	s := newSender(t, SenderConfig{RestInterval: time.Second, Load: func() Load {
		src.l.Requests++ // of another client
		return src.l
	}})
	idle, busy := &asking{target: target{newNIC()}}, &asking{target: target{newNIC()}}
	slow := &asking{target: target{newNIC()}}
	sub := s.Add(idle, 0)
	s.Add(busy, 0)
	s.Add(slow, 2*time.Second)
	at := 0
	ask := func() { busy.requests++ }
	if n := idle.beats(s, &at, 100, ask); n != 100 {
		t.Errorf("%d heartbeats in the first second, want 100", n)
	}
	idle.beats(s, &at, 2*signalEvery, ask) // The sender notices.
	if s.Resting() != 1 {
		t.Fatalf("%d connections rest, want 1", s.Resting())
	}
	if n := idle.beats(s, &at, 500, ask); n != 5 {
		t.Errorf("%d heartbeats in five seconds without requests, want 5", n)
	}
	if s.Interval(sub) != time.Second {
		t.Errorf("interval %v", s.Interval(sub))
	}
	idle.requests++
	s.Wake(sub)
	s.Wake(sub)
	if n := idle.beats(s, &at, 100, ask); n != 100 || s.Resting() != 0 {
		t.Errorf("%d heartbeats in the second after a request, want 100; %d connections rest", n, s.Resting())
	}
	// With a request now and then it never rests.
	idle.requests++
	if n := idle.beats(s, &at, 1000, func() {
		ask()
		if at%80 == 0 {
			idle.requests++
		}
	}); n != 1000 {
		t.Errorf("%d heartbeats in ten seconds with requests, want 1000", n)
	}
	if n := len(busy.posted); n != at {
		t.Errorf("%d heartbeats in %d intervals to a client with requests", n, at)
	}
	if n := len(slow.posted); n != (at+199)/200 {
		t.Errorf("%d heartbeats in %d intervals to a client that wants one in two seconds", n, at)
	}
	idle.beats(s, &at, 200, ask)
	if s.Resting() != 1 {
		t.Fatalf("%d connections rest, want 1", s.Resting())
	}
	s.Remove(sub)
	s.Remove(sub)
	s.Wake(sub)
	if n := idle.beats(s, &at, 200, ask); n != 0 || s.Resting() != 0 {
		t.Errorf("%d heartbeats, %d at rest after Remove", n, s.Resting())
	}
}
