package sim

// Polling callers that outnumber the cores of their machine. A caller of a polling server
// is a thread that polls for its answer, as FaRM's are, so callers take turns as the
// server's threads do (polling.go):
//
//	server, thread of caller c   |......|run|......|......|run|......|
//	client, thread of caller c   |.|run|.|.|run|.|.|run|.|.|run|.|.|run|
//	progress                     |......| x|......|......|  |......|
//
// A thread notices nothing while it has no core. So a pair makes progress only while both
// have one: with k threads on each of the server's cores and m on each of the clients',
// during one part in k*m of the time. It is the delay of processes that wait for each other
// and are not scheduled together (Ousterhout, "Scheduling techniques for concurrent
// systems", ICDCS 1982), and has no constant to fit.
//
// The turns of a core are drawn again for each rotation. With a fixed order, pairs whose two
// rotations have a common divisor would meet always or never.

// turns are those of one core of a client machine.
type turns struct {
	threads int64
	slice   int64
	seed    uint64
}

// turnsOf are the turns of a caller's core, and its number there. ok is false if it has a
// core of its own, or needs none to notice an answer.
func (s *sim) turnsOf(c *call, caller int) (t turns, at int64, ok bool) {
	if !s.sch.Poll || !s.cl.Client.Polls {
		return t, 0, false
	}
	perClient, machines := s.cfg.InFlight, len(s.machines)
	client := caller / perClient
	local := client/machines*perClient + caller%perClient
	clients := (s.cfg.Clients - int(c.machine) + machines - 1) / machines
	cores := s.cl.Client.Cores
	core := local % cores
	t.threads = int64((clients*perClient - core + cores - 1) / cores)
	t.slice, t.seed = ns(s.cl.Server.SliceNs), uint64(c.machine)<<32|uint64(core)
	return t, int64(local / cores), t.threads > 1
}

// window is when thread at has the core in a rotation.
func (t turns) window(at, rotation int64) (from, to int64) {
	offset := int64(hash64(t.seed) % uint64(t.threads*t.slice)) // Cores are not in step.
	turn := int64(hash64(t.seed^uint64(rotation)<<20) % uint64(t.threads))
	from = (rotation*t.threads+(at+turn)%t.threads)*t.slice - offset
	return from, from + t.slice
}

// next is when thread at has the core, from a time on: until is the end of its slice.
func (t turns) next(at, now int64) (from, until int64) {
	for r := now / (t.threads * t.slice); ; r++ {
		if from, until = t.window(at, r); now < until {
			return max(from, now), until
		}
	}
}

// after is when thread at has worked for a time, from now on.
func (t turns) after(at, now, work int64) int64 {
	for {
		from, until := t.next(at, now)
		if from+work <= until {
			return from + work
		}
		work -= until - from
		now = until
	}
}

// hash64 is the finaliser of SplitMix64.
func hash64(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
