package sim

import (
	"testing"
	"time"
)

// TestTurns: at each moment one thread of a core has it, for a slice in each rotation, and
// work takes exactly as long as its thread has the core.
func TestTurns(t *testing.T) {
	for threads := int64(2); threads < 6; threads++ {
		u := turns{threads: threads, slice: 1000, seed: uint64(threads)}
		had := make([]int64, threads)
		for now := int64(5000); now < 105_000; now += 100 {
			owners := 0
			for at := range threads {
				from, until := u.next(at, now)
				if until <= now || until-from > u.slice || from < now {
					t.Fatalf("%d threads: %d has the core from %d to %d, asked at %d", threads, at, from, until, now)
				}
				if from == now {
					owners++
					had[at] += 100
				}
			}
			if owners != 1 {
				t.Fatalf("%d threads: %d have the core at %d", threads, owners, now)
			}
		}
		for at, ns := range had {
			if want := 100_000 / threads; ns < want-2*u.slice || ns > want+2*u.slice {
				t.Errorf("%d threads: %d had the core for %d ns, want %d", threads, at, ns, want)
			}
		}
		// Work in one piece and in two ends at the same time.
		for now := int64(0); now < 20_000; now += 777 {
			if whole, parts := u.after(1, now, 2500), u.after(1, u.after(1, now, 900), 1600); whole != parts || whole < now+2500 {
				t.Errorf("%d threads: 2500 ns from %d on end at %d, in two parts at %d", threads, now, whole, parts)
			}
		}
	}
}

// TestPairsMeet: threads of both sides that outnumber their cores make progress only while
// both have one. With k threads on each core of the server and m on each of the clients', a
// request takes k*m times as long, a pause m times.
func TestPairsMeet(t *testing.T) {
	w := small(t, "1e-5")
	cl := bare(t)
	cl.Server.Cores, cl.Client.Cores, cl.Client.Machines = 2, 2, 1
	cl.Server.RequestNs, cl.Server.SliceNs = 20_000, 1e6 // 50 requests a slice: little of one is left over
	mean := func(clients, machines int, polls bool) float64 {
		cl.Client.Machines, cl.Client.Polls = machines, polls
		return simulate(t, Config{Cluster: cl, Scheme: "fast-polling", Clients: clients,
			Duration: 600 * time.Millisecond, Warmup: 20 * time.Millisecond, Seed: 2}, w).MeanUs
	}
	for _, c := range []struct {
		clients, machines int
		polls             bool
		times             float64
	}{
		{2, 1, true, 1}, {8, 4, true, 4}, {8, 1, false, 4}, {8, 2, true, 4 * 2}, {8, 1, true, 4 * 4},
	} {
		if got := mean(c.clients, c.machines, c.polls) / 20; got < 0.8*c.times || got > 1.2*c.times {
			t.Errorf("%+v: a request takes %.1f times as long as alone", c, got)
		}
	}
}
