package replica

import (
	"errors"
	"fmt"
	"math/bits"
	"time"
)

// ID is the number of a member in its group, below MaxMembers.
type ID uint8

// MaxMembers is what a Set has bits for.
const MaxMembers = 64

// Set is a set of members, a bit for each.
type Set uint64

// SetOf returns the set of some members.
func SetOf(ids ...ID) Set {
	var s Set
	for _, id := range ids {
		s = s.With(id)
	}
	return s
}

// Has reports whether a member is in the set.
func (s Set) Has(id ID) bool { return s&(1<<id) != 0 }

// With returns the set with one more member.
func (s Set) With(id ID) Set { return s | 1<<id }

// Without returns the set without a member.
func (s Set) Without(id ID) Set { return s &^ (1 << id) }

// Len returns the number of members.
func (s Set) Len() int { return bits.OnesCount64(uint64(s)) }

// Level says what a secondary has done when its acknowledgement of an entry counts.
type Level uint8

const (
	// Received: it has the entry in memory, in order. The primary has it on its
	// disk by then. An entry is lost if the primary loses its disk and the other
	// in-sync members crash before theirs have it.
	Received Level = iota
	// Durable: it has the entry on its disk.
	Durable
)

// Config is the value of the group's key in the config store. It changes only by
// compare-and-set on Version, so that all members see the same order of configs. The
// members change Term, Primary, and InSync. An operator may change the rest, and take a
// member out of InSync.
type Config struct {
	Version uint64 // the store's number of the change that wrote it, not 0
	// Term counts primaries. No two primaries, and no two boots of one, have the same.
	Term    uint64
	Primary ID
	InSync  Set // Primary too. These have all that is committed, and may be promoted.
	Members Set // InSync, and those that are learning
	// MinInSync is the least size of InSync with which writes are accepted.
	MinInSync int
	Level     Level // fixed when the group is made
}

// Options are the times of a group, the same at all members.
type Options struct {
	// Lease is how long a primary is believed after a beacon that all in-sync
	// secondaries have heard, and how long it waits for one that does not answer.
	Lease time.Duration
	// Grace is how long a secondary hears no beacon before it asks for promotion.
	Grace time.Duration
	// Lag is how many entries a learner may be behind when the primary's commits
	// begin to wait for it. From then on it can catch up.
	Lag uint64
	// Forget is how long a client is known after its last write, 0: for ever. A client
	// repeats a write for half of it at most, and takes the outcome for unknown then.
	Forget time.Duration
}

// DefaultOptions let a failover take less than a second.
var DefaultOptions = Options{
	Lease: 400 * time.Millisecond, Grace: 600 * time.Millisecond, Lag: 1024, Forget: 10 * time.Minute,
}

// ErrOptions says that Grace is too short for Lease.
var ErrOptions = errors.New("replica: grace too short")

// drift is more than two clocks gain on each other, as a divisor: each is right by
// 2e-4, several times what a crystal is.
const drift = 2000

// Validate returns ErrOptions if a lease could outlast the grace of another member.
func (o Options) Validate() error {
	if least := o.Lease + o.Lease/drift; o.Lease <= 0 || o.Grace < least {
		return fmt.Errorf("%w: %v, want %v or more for a lease of %v", ErrOptions, o.Grace, least, o.Lease)
	}
	return nil
}
