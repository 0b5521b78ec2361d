package heartbeat

import (
	"math"
	"testing"
	"time"
)

// TestSpread: with phases, each connection gets one heartbeat per interval,
// at equal distances; at each tick an equal part of the connections gets
// one. Load is called once per interval.
func TestSpread(t *testing.T) {
	const phases, clients, rounds = 8, 20, 5
	asked := 0
	src := &loadSource{}
	s := newSender(t, SenderConfig{TickEvery: time.Millisecond, Phases: phases, Load: func() Load {
		asked++
		src.l.Requests++
		src.l.CPU = float64(asked) / 100
		return src.l
	}})
	var nics []*nic
	for range clients {
		n := newNIC()
		nics = append(nics, n)
		if got := s.Interval(s.Add(target{n}, 3*time.Millisecond)); got != phases*time.Millisecond {
			t.Fatalf("interval %v, want %v: rounded up to rounds", got, phases*time.Millisecond)
		}
	}
	last := make([]int, clients)
	beats := make([]int, clients)
	for tick := range phases * rounds {
		if !s.Tick(start.Add(time.Duration(tick) * time.Millisecond)) {
			t.Fatalf("tick %d wants no more", tick)
		}
		now := 0
		for i, n := range nics {
			if len(n.posted) == 0 {
				continue
			}
			if beats[i] > 0 && tick-last[i] != phases {
				t.Errorf("client %d: beats at ticks %d and %d, want %d between them", i, last[i], tick, phases)
			}
			now += len(n.posted)
			beats[i] += len(n.posted)
			last[i] = tick
			n.carryOut()
			b, err := Decode(n.page)
			if err != nil || b.Interval != phases*time.Millisecond || math.Abs(b.CPU-float64(1+tick/phases)/100) > 1e-6 {
				t.Fatalf("tick %d: %+v, %v", tick, b, err)
			}
		}
		if now < clients/phases || now > clients/phases+1 {
			t.Errorf("%d beats at tick %d, want %d or %d", now, tick, clients/phases, clients/phases+1)
		}
	}
	for i, n := range beats {
		if n != rounds {
			t.Errorf("client %d got %d beats in %d intervals", i, n, rounds)
		}
	}
	if asked != rounds {
		t.Errorf("asked for the load %d times in %d intervals", asked, rounds)
	}
}

// TestSpreadFillsUp: a client that leaves makes room in its phase. Intervals
// of more ticks than maxPhases are respected, too.
func TestSpreadFillsUp(t *testing.T) {
	src := &loadSource{}
	s := newSender(t, SenderConfig{TickEvery: time.Millisecond, Phases: 4, Load: func() Load {
		src.l.Requests++
		return src.l
	}})
	var subs []*Subscription
	for range 8 {
		subs = append(subs, s.Add(target{newNIC()}, 0))
	}
	for _, sub := range subs[:3] {
		s.Remove(sub)
	}
	for range 3 {
		subs = append(subs, s.Add(target{newNIC()}, 0))
	}
	for p, in := range s.groups[0].phases {
		if len(in) != 2 {
			t.Errorf("%d connections in phase %d, want 2", len(in), p)
		}
	}
	for _, sub := range subs {
		s.Remove(sub)
	}
	if len(s.groups) != 0 || s.Tick(start) {
		t.Errorf("%d groups are left without connections", len(s.groups))
	}
	var nics []*nic
	const every = 300 // ticks: more than maxPhases
	for range 2 * maxPhases {
		n := newNIC()
		nics = append(nics, n)
		s.Add(target{n}, every*time.Millisecond)
	}
	for tick := range 3 * every {
		s.Tick(start.Add(time.Duration(tick) * time.Millisecond))
	}
	for i, n := range nics {
		if len(n.posted) != 3 {
			t.Errorf("client %d got %d beats in 3 intervals of %d ticks", i, len(n.posted), every)
		}
	}
}

// BenchmarkSpread is BenchmarkTick with phases: the cost of a heartbeat,
// including ticks at which no heartbeat is due.
func BenchmarkSpread(b *testing.B) {
	src := &loadSource{}
	s := newSender(b, SenderConfig{TickEvery: 1250 * time.Microsecond, Phases: 8, Load: src.Load})
	n := &sink{}
	for range 1000 {
		s.Add(n, 0)
	}
	now := start
	for b.Loop() {
		now = now.Add(1250 * time.Microsecond)
		src.l.Requests++
		s.Tick(now)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n.qp.posted), "ns/beat")
}
