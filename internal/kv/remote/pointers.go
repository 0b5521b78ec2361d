package remote

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/record"
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
// "Due" is counted backwards from the end. A lease of 0 has ended: the entry is free.
//
// # Concurrency
//
// A reference must never be returned with the end of another reference's lease: a
// client would believe bytes read there for too long. So writers make the version odd,
// by compare-and-swap from an even value, change the set, and store the next even one.
// Get returns an entry only if it loaded the same even version before and after it
// loaded the entry: then no writer was in the set in between, since versions only grow,
// and never come round in 64 bits. All words are atomic, in Go's one order of them.
//
// No goroutine waits for a set. One that meets a writer in the set gives up: Get finds
// nothing, and the other methods change nothing. A cache may forget, and an entry that
// stays although its record is dead costs a read.
//
// Get writes nothing but the bits "hit" and "asked", once for each lease, by
// compare-and-swap of the word that it has read. So cores that read the same entries
// share their lines. A writer may overwrite such a bit; but it writes another lease,
// which has neither. A bit may get into an entry that has replaced the one that was
// read, with an equal lease word: no harm.
//
// # Which entry is replaced
//
// One whose lease has ended; else one that was not hit since its lease was granted;
// else any; and of several the one whose lease ends first. That is the one with the
// least lease word. There is no hand and no count that fades with time: time itself
// ends leases that are not renewed, after 64 s at the latest, and the server gives
// popular records the longer leases.

// Pointers is a cache, shared by the clients of one process, of the places of one Map's
// records, and of the times until which clients may read there: one read instead of a
// lookup. It keeps no keys, but their hashes: a record contains its key, so that a
// wrong reference costs a read and nothing else. Leases are of records, not of clients:
// a lease that one client got by any connection serves all.
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

// Cap is the number of entries for which the cache has room.
func (p *Pointers) Cap() int { return len(p.sets) * pointerWays }

// set returns the hash's set, by its high bits.
func (p *Pointers) set(hash uint64) *pointerSet {
	hi, _ := bits.Mul64(hash, uint64(len(p.sets)))
	return &p.sets[hi]
}

// Get returns the reference of the key with this hash (cuckoo.Hash with the Map's
// seed), and the time, later than now, until which an answer by it has to arrive. The
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

// Put remembers a reference, by which clients may read until then, instead of any other
// of this hash; for the same reference the later end counts. until is
//
//	after a lookup by reading   when the read of the index was posted, and the base grace
//	after one by message        when the request was sent, and the lease that was granted
func (p *Pointers) Put(hash uint64, ref record.Ref, now, until time.Duration) {
	p.put(hash, ref, now, until, false)
}

// Renewed is Put for a Renewal of Due, if its entry still exists and the lease has not
// ended.
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
	var end time.Duration // of this reference's present lease
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

// lock admits a writer, unless another one is in the set.
func (s *pointerSet) lock() (version uint64, ok bool) {
	version = s.version.Load()
	return version, version%2 == 0 && s.version.CompareAndSwap(version, version+1)
}

func (s *pointerSet) unlock(version uint64) { s.version.Store(version + 2) }

// find returns the entry of a hash, whether its lease has ended or not. No hash has a
// second entry but 0, in entries that were never used; the first counts then.
func (s *pointerSet) find(hash uint64) *pointerEntry {
	for i := range s.entries {
		if s.entries[i].hash.Load() == hash {
			return &s.entries[i]
		}
	}
	return nil
}

// least returns the entry to replace.
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
