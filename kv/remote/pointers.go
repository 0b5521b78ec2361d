package remote

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/record"
)

// The pointer cache
//
// # Layout
//
// A hash table of sets of two lines; a hash may be in any place of its set. The
// garbage collector finds no pointers in it.
//
//	byte 0    | version: odd while a writer is in the set |
//	     8    | hash | reference | lease |    entry 0
//	     ...                                  8 bytes each
//	     104  | hash | reference | lease |    entry 4
//
//	lease     63   62 ............. 19 | 18 .......... 1 | 0
//	         | hit | end, ms, rounded  | from when on it | asked for
//	         |     | down           44 | is due, ms   18 | its renewal
//
// "Due" is counted backwards from the end. A lease of 0 is over: the entry is
// free.
//
// # Concurrency
//
// What must not happen is that a reference is returned with the end of another
// one's lease: a client would believe what it reads there for too long. So
// writers make the version odd, by compare-and-swap from an even value, change
// the set, and store the next even one. Get takes nothing unless it loaded the
// same even version before and after it loaded the entry: then no writer was in
// the set in between, since versions only grow, and never come round in 64 bits.
// All words are atomic, in Go's one order of them.
//
// Nobody waits for a set. Who meets a writer in the set gives up: Get finds nothing, and the
// others change nothing. A cache may forget, and an entry that stays although its
// record is dead costs a read.
//
// Get writes nothing but the bits "hit" and "asked", once for each lease, by
// compare-and-swap of the word that it has read. So cores that read the same
// entries share their lines. A writer may overwrite such a bit; but a lease that it
// writes is another one, which has neither. A bit may get into an entry that has
// replaced the one that was read, with an equal lease word: no harm.
//
// # Which entry makes room
//
// One whose lease is over; else one that was not hit since its lease was granted;
// else any; and of several the one whose lease ends first. That is the one with
// the least lease word. There is no hand and no count that fades with time: time
// itself ends what is not renewed, after 64 s at the latest, and the server gives
// popular records the longer leases.

// Pointers is what the clients of one process know of where records of one Map
// are, and until when they may read there: one read instead of a lookup. It keeps
// no keys, but their hashes: the record that is read says its key itself, so that
// a wrong reference costs a read and nothing else. Leases are of records, not of
// clients: who got one by whatever connection shares it with all.
//
// All methods are safe for any number of goroutines. Times are of one monotonic
// clock for all users, from 0.
type Pointers struct {
	sets []pointerSet
	due  *renewals // apart from sets, whose address all cores read
}

// pointerWays: five entries and the version fill two lines, which processors
// fetch together.
const pointerWays = 5

type pointerSet struct {
	version atomic.Uint64
	entries [pointerWays]pointerEntry
}

type pointerEntry struct{ hash, ref, lease atomic.Uint64 }

const (
	setBytes     = 8 + 24*pointerWays
	renewalBytes = 24
)

// NewPointers makes a cache of at most limit bytes, but room for five entries.
func NewPointers(limit int64) *Pointers {
	waiting := min(max(limit/(setBytes+renewalBytes), 1), maxRenewals)
	return &Pointers{
		sets: make([]pointerSet, max((limit-waiting*renewalBytes)/setBytes, 1)),
		due:  &renewals{ring: make([]Renewal, waiting)},
	}
}

// Cap is how many entries there is room for.
func (p *Pointers) Cap() int { return len(p.sets) * pointerWays }

// set is the hash's set, by its high bits.
func (p *Pointers) set(hash uint64) *pointerSet {
	hi, _ := bits.Mul64(hash, uint64(len(p.sets)))
	return &p.sets[hi]
}

// Get returns the reference of the key with this hash (cuckoo.Hash with the Map's
// seed), and until when, later than now, an answer by it has to be there. The
// record may have another key, and may be dead: see Forget.
func (p *Pointers) Get(hash uint64, now time.Duration) (ref record.Ref, until time.Duration, ok bool) {
	s := p.set(hash)
	version := s.version.Load()
	for i := range s.entries {
		e := &s.entries[i]
		if e.hash.Load() != hash {
			continue
		}
		ref, l := record.Ref(e.ref.Load()), lease(e.lease.Load())
		if version%2 != 0 || s.version.Load() != version || l.end() <= now {
			return 0, 0, false
		}
		seen := l | leaseHit
		if l.due(now) {
			seen |= leaseAsked
		}
		if seen != l && e.lease.CompareAndSwap(uint64(l), uint64(seen)) && seen&leaseAsked != 0 {
			p.due.add(Renewal{Hash: hash, Ref: ref, Until: l.end()})
		}
		return ref, l.end(), true
	}
	return 0, 0, false
}

// Put remembers a reference, which may be read by until then, instead of any other
// of this hash; for the same reference the later end counts. until is
//
//	after a lookup by reading   when the read of the index was posted, and the base grace
//	after one by message        when the request was sent, and the lease that was granted
func (p *Pointers) Put(hash uint64, ref record.Ref, now, until time.Duration) {
	p.put(hash, ref, now, until, false)
}

// Renewed is Put for what Due has returned, if it is still there and its lease
// not over.
func (p *Pointers) Renewed(r Renewal, now, until time.Duration) {
	p.put(r.Hash, r.Ref, now, until, true)
}

func (p *Pointers) put(hash uint64, ref record.Ref, now, until time.Duration, renewal bool) {
	l := newLease(now, until)
	if l.end() <= now {
		return
	}
	s := p.set(hash)
	version, ok := s.lock()
	if !ok {
		return
	}
	defer s.unlock(version)
	e := s.find(hash)
	var end time.Duration // of the lease that this reference has
	if e != nil && record.Ref(e.ref.Load()) == ref {
		end = lease(e.lease.Load()).end()
	}
	switch {
	case end >= l.end(), renewal && end <= now:
		return
	case e == nil:
		e = s.least(now)
	}
	e.hash.Store(hash)
	e.ref.Store(uint64(ref))
	e.lease.Store(uint64(l))
}

// Forget removes a reference by which no living record of the key was found, unless
// another one has replaced it.
func (p *Pointers) Forget(hash uint64, ref record.Ref) {
	s := p.set(hash)
	version, ok := s.lock()
	if !ok {
		return
	}
	defer s.unlock(version)
	if e := s.find(hash); e != nil && record.Ref(e.ref.Load()) == ref {
		e.lease.Store(0)
	}
}

// lock lets a writer in, unless another one is there.
func (s *pointerSet) lock() (version uint64, ok bool) {
	version = s.version.Load()
	return version, version%2 == 0 && s.version.CompareAndSwap(version, version+1)
}

func (s *pointerSet) unlock(version uint64) { s.version.Store(version + 2) }

// find returns the entry of a hash, whether its lease is over or not. There is
// never a second one, but of hash 0 in entries that were never used; the first
// counts then.
func (s *pointerSet) find(hash uint64) *pointerEntry {
	for i := range s.entries {
		if s.entries[i].hash.Load() == hash {
			return &s.entries[i]
		}
	}
	return nil
}

// least returns the entry that makes room.
func (s *pointerSet) least(now time.Duration) (e *pointerEntry) {
	least := lease(0)
	for i := range s.entries {
		l := lease(s.entries[i].lease.Load())
		if l.end() <= now {
			return &s.entries[i]
		}
		if e == nil || l < least {
			e, least = &s.entries[i], l
		}
	}
	return e
}
