//go:build linux

package rounds

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/catfish-index/catfish/catfish"
)

// Changes of the group that an operator makes beside a fault.
const (
	addMember    = "add"
	removeMember = "remove"
	switchMember = "switch"
)

// shortestHold is how long a fault lasts at least, and longer than a failover takes; at most
// twice as long.
const shortestHold = 1200 * time.Millisecond

// Plan is what happens in a round. The seed decides all of it, and what the clients ask for; how
// threads and packets interleave it cannot decide.
type Plan struct {
	Seed      uint64
	Fault     Fault
	Transport string        // of one-sided reads
	During    string        // a change of the group: none, add, remove, switch
	Before    bool          // the change begins before the fault
	Hold      time.Duration // how long the fault lasts
	Delay     time.Duration // of packets
	Pick      uint64        // which secondary, file, byte
	Moving    *Moving       // nil: there is one group
}

// NewPlan draws a round of some groups. Seeds that follow each other have all faults of list, one after
// the other.
func NewPlan(seed uint64, list []Fault, groups int) Plan {
	r := rand.New(rand.NewPCG(seed, 1))
	p := Plan{
		Seed: seed, Fault: list[seed%uint64(len(list))], Transport: catfish.TransportSHM,
		Hold: shortestHold + time.Duration(r.Int64N(int64(shortestHold))), Before: r.IntN(2) == 0,
		Delay: 20*time.Millisecond + time.Duration(r.Int64N(int64(280*time.Millisecond))), Pick: r.Uint64(),
	}
	// Shared memory goes around a network that is cut.
	if p.Fault.network || r.IntN(2) == 0 {
		p.Transport = catfish.TransportSoft
	}
	switch n := r.IntN(10); {
	case groups > 1: // A group of two has no member to spare.
		p.Moving = newMoving(r, seed, len(list), groups)
	case n < 2:
		p.During = addMember
	case n < 4:
		p.During = removeMember
	case n < 5:
		p.During = switchMember
	}
	return p
}

// String describes a plan in a line.
func (p *Plan) String() string {
	s := fmt.Sprintf("seed %d, %s for %v, one-sided reads over %s", p.Seed, p.Fault.Name, p.Hold.Round(time.Millisecond), p.Transport)
	if p.Fault.delays {
		s += fmt.Sprintf(", packets %v late", p.Delay.Round(time.Millisecond))
	}
	if p.Moving != nil {
		s += ", " + p.Moving.String()
	}
	when := "after"
	if p.Before {
		when = "before"
	}
	switch p.During {
	case addMember:
		s += ", a member is added " + when + " it begins"
	case removeMember:
		s += ", a member is removed " + when + " it begins"
	case switchMember:
		s += ", an operator switches " + when + " it begins"
	}
	return s
}

// Choose returns the faults of these names, all for none.
func Choose(names []string) ([]Fault, error) {
	all := Faults()
	if len(names) == 0 {
		return all, nil
	}
	var some []Fault
	for _, name := range names {
		i := slices.IndexFunc(all, func(f Fault) bool { return f.Name == name })
		if i < 0 {
			var known []string
			for _, f := range all {
				known = append(known, f.Name)
			}
			return nil, fmt.Errorf("rounds: no fault %q, want some of %s", name, strings.Join(known, ", "))
		}
		some = append(some, all[i])
	}
	return some, nil
}
