//go:build linux

package rounds

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// Fault is something that happens to a group.
type Fault struct {
	Name string
	What string // for people
	// network: the fault is one of the network, so nothing may go around it.
	network bool
	delays  bool
	damages bool // files of the victim
	// secondary: the victim is one; else it is the primary.
	secondary bool
	begin     func(context.Context, *round) error
}

// Faults lists all.
func Faults() []Fault {
	return []Fault{
		{Name: "kill-primary", What: "kill -9 of the primary", begin: killVictim},
		{Name: "kill-secondary", What: "kill -9 of a secondary", secondary: true, begin: killVictim},
		{Name: "kill-secondaries", What: "kill -9 of all secondaries at once", begin: killOthers},
		{Name: "kill-all", What: "kill -9 of all members at once", begin: killAll},
		{Name: "stop-primary", What: "SIGSTOP of the primary, beyond its lease", begin: stopVictim},
		{Name: "stop-secondary", What: "SIGSTOP of a secondary, beyond the lease", secondary: true, begin: stopVictim},
		{Name: "stop-client", What: "SIGSTOP of one of two processes of clients", begin: func(_ context.Context, r *round) error {
			return r.crews[1].signal(syscall.SIGSTOP)
		}},
		{Name: "cut-primary", What: "nothing reaches the primary or leaves it", network: true, begin: cutVictim(both, everybody)},
		{Name: "cut-secondary", What: "nothing reaches a secondary or leaves it", network: true, secondary: true, begin: cutVictim(both, everybody)},
		{Name: "cut-primary-out", What: "nothing leaves the primary, everything reaches it", network: true, begin: cutVictim(out, everybody)},
		{Name: "cut-primary-in", What: "nothing reaches the primary, everything leaves it", network: true, begin: cutVictim(in, everybody)},
		{Name: "cut-secondary-out", What: "nothing leaves a secondary, everything reaches it", network: true, secondary: true, begin: cutVictim(out, everybody)},
		{Name: "cut-from-members", What: "the primary reaches clients and the coordinator, but no member", network: true, begin: cutVictim(both, members)},
		{Name: "cut-from-coordinator", What: "the primary does not reach the coordinator", network: true, begin: cutVictim(both, coordinator)},
		{Name: "cut-to-clients", What: "the primary reaches clients, but neither members nor the coordinator", network: true, begin: cutVictim(both, servers)},
		{Name: "cut-client", What: "nothing reaches one of two processes of clients or leaves it", network: true, begin: func(_ context.Context, r *round) error {
			r.cut(portClients+1, both, everybody)
			return nil
		}},
		{Name: "delay", What: "packets from and to the primary are late, up to 300 ms", network: true, delays: true, begin: delayVictim},
		{Name: "delay-and-kill-primary", What: "packets between members are late, the primary is killed, and what it has sent is lost", network: true, begin: delayAndKill},
		{Name: "kill-coordinator", What: "kill -9 of the coordinator", begin: killCoordinator},
		{Name: "kill-coordinator-and-primary", What: "kill -9 of both", begin: func(ctx context.Context, r *round) error {
			return errors.Join(killCoordinator(ctx, r), killVictim(ctx, r))
		}},
		{Name: "disk-full-primary", What: "the primary's disk is full", begin: fillDisk},
		{Name: "disk-full-secondary", What: "a secondary's disk is full", secondary: true, begin: fillDisk},
		{Name: "torn-log", What: "kill -9 of a secondary, whose journal or log ends too early then", secondary: true, damages: true, begin: tearLog},
		{Name: "torn-log-primary", What: "the same of the primary", damages: true, begin: tearLog},
		{Name: "flipped-bit", What: "kill -9 of a secondary, and another bit in one of its files", secondary: true, damages: true, begin: flipBit},
	}
}

func killVictim(_ context.Context, r *round) error { return r.victim.kill() }

func killOthers(_ context.Context, r *round) error {
	var err error
	for _, m := range r.c.of(r.victim.group) {
		if m != r.victim {
			err = errors.Join(err, m.p.Load().Signal(syscall.SIGKILL))
		}
	}
	return err
}

func killAll(_ context.Context, r *round) error {
	var err error
	for _, m := range r.c.present() {
		err = errors.Join(err, m.p.Load().Signal(syscall.SIGKILL))
	}
	return err
}

func stopVictim(_ context.Context, r *round) error { return r.victim.p.Load().Signal(syscall.SIGSTOP) }

func killCoordinator(_ context.Context, r *round) error { return r.c.coordinator.Stop(syscall.SIGKILL) }

// Directions of a cut, as the process that is cut off sees them.
type direction uint8

const (
	in direction = 1 << iota
	out
	both = in | out
)

// The peers from which it is cut off.
func everybody(int) bool     { return true }
func coordinator(p int) bool { return p == portCoordinator }
func servers(p int) bool     { return p == portCoordinator || members(p) }
func members(p int) bool     { return p >= portMember }

func cutVictim(d direction, from func(port int) bool) func(context.Context, *round) error {
	return func(_ context.Context, r *round) error {
		r.cut(r.victim.port, d, from)
		return nil
	}
}

func (r *round) cut(port int, d direction, from func(port int) bool) {
	for p := range r.o.ports() {
		if p == port || !from(p) {
			continue
		}
		if d&in != 0 {
			r.net.Cut(p, port)
		}
		if d&out != 0 {
			r.net.Cut(port, p)
		}
	}
}

// delayAndKill kills the primary while its packets are on the way, and are lost. The way is
// so short that the secondaries stay in the set.
func delayAndKill(ctx context.Context, r *round) error {
	d := r.plan.Delay / 6
	r.note("packets between members were %v late", d.Round(time.Millisecond))
	for from := portMember; from < r.o.ports(); from++ {
		for to := portMember; to < r.o.ports(); to++ {
			r.net.Delay(from, to, d)
		}
	}
	select {
	case <-time.After(r.plan.Hold / 2):
	case <-ctx.Done():
	}
	r.cut(r.victim.port, both, everybody)
	return r.victim.kill()
}

func delayVictim(_ context.Context, r *round) error {
	for p := range r.o.ports() {
		if p != r.victim.port {
			r.net.Delay(p, r.victim.port, r.plan.Delay)
			r.net.Delay(r.victim.port, p, r.plan.Delay)
		}
	}
	return nil
}
