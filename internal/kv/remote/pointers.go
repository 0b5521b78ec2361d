package remote

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/record"
)

// The pointer cache
//
// # Layout
//
// A hash table of sets of two lines; a hash may be in any place of its set. The
// garbage collector finds no pointers in it. It lies on the heap of a process, or in a
// file that processes of one user map (pointerfile.go).
//
//	byte 0    | 0                  |
//	     8    | tag | ref | lease  |    entry 0
//	     ...                            8 bytes each
//	     104  | tag | ref | lease  |    entry 4
//
//	lease     63   62 ............. 19 | 18 .......... 1 | 0
//	         | hit | end, ms, rounded  | from when on it | asked for
//	         |     | down           44 | is due, ms   18 | its renewal
//
//	tag       hash ^ region ^ check(ref, lease without hit and asked)
//
// "Due" is counted backwards from the end. The region says whose records are meant,
// where a table has those of several Maps. A lease that has ended, or would be longer than
// record.MaxLease, is none: the entry is free.
//
// # Concurrency
//
// A reference must never be returned with the end of another reference's lease: a
// client would believe bytes read there for too long. So the tag joins the three words,
// as in Hyatt and Mann's "A lockless transposition table" (ICGA Journal, 2002). Nothing is
// locked: writers store the words in any order, readers load them, and an entry is
// that of a hash only if the tag says so. What of a mixture of the words of two
// writers, or of three?
//
//	same ref, two leases     refused: check differs for any two leases of one ref,
//	same lease, two refs     and for any two refs with one lease
//	all words from others    taken once in 2^64 mixtures, as a random tag would be
//
// All words are atomic, in Go's one order of them. Readers and writers of other processes
// are no different: a lock-free load or store of 8 bytes is the machine's, not the
// process's.
//
// No goroutine waits, and none can leave an entry so that others cannot use it. One that
// ends between two stores, with its process, leaves a mixture, which is found for no hash, and
// is replaced when its lease word has ended, as any other. Two writers of a new hash may
// use two entries; the first that is found counts, and Forget removes both. A cache may
// forget, and an entry that stays although its record is dead costs a read.
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

// Pointers is a cache, shared by the clients of one process or of several, of the places of one Map's
// records, and of the times until which clients may read there: one read instead of a
// lookup. It keeps no keys, but their hashes: a record contains its key, so that a
// wrong reference costs a read and nothing else. Leases are of records, not of clients:
// a lease that one client got by any connection serves all.
//
// All methods are safe for any number of goroutines. Times are of one monotonic
// clock for all users in the process, from 0.
type Pointers struct {
	sets   []pointerSet
	due    *renewals // apart from sets, whose address all cores read
	region uint64
	clock  machineClock // zero: ends in sets are of the process's clock
	file   *PointerFile // nil: sets are on the heap. It keeps them mapped.
}

// pointerWays: five entries and 8 bytes fill two lines, which processors
// fetch together.
const pointerWays = 5

type pointerSet struct {
	_       uint64
	entries [pointerWays]pointerEntry
}

type pointerEntry struct{ tag, ref, lease atomic.Uint64 }

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
	at := p.clock.latest(now)
	s := p.set(hash)
	for i := range s.entries {
		e := &s.entries[i]
		h, r, l := e.load()
		if h != hash^p.region || !l.runs(at) {
			continue
		}
		ref, until, ok = r, p.clock.local(l.end()), true
		seen := l | leaseHit
		if l.due(at) {
			seen |= leaseAsked
		}
		if seen != l && e.lease.CompareAndSwap(uint64(l), uint64(seen)) && seen&leaseAsked != 0 {
			p.due.add(Renewal{Hash: hash, Ref: ref, Until: until})
		}
		break
	}
	runtime.KeepAlive(p)
	return ref, until, ok
}

// Put remembers a reference, by which clients may read until then, instead of any other
// of this hash; for the same reference the later end counts. No end is later than
// record.MaxLease from now. until is
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
	at := p.clock.latest(now)
	l := newLease(at, p.clock.machine(min(until, now+record.MaxLease)))
	if !l.runs(at) {
		return
	}
	s := p.set(hash)
	e := s.find(hash ^ p.region)
	var end time.Duration // of this reference's present lease
	if e != nil {
		if _, r, present := e.load(); r == ref && present.runs(at) {
			end = present.end()
		}
	}
	switch {
	case end >= l.end(), renewal && end == 0:
		return
	case e == nil:
		e = s.least(at)
	}
	e.ref.Store(uint64(ref))
	e.lease.Store(uint64(l))
	e.tag.Store(hash ^ p.region ^ check(ref, l))
	runtime.KeepAlive(p)
}

// Forget removes a reference by which no living record of the key was found, unless
// another one has replaced it.
func (p *Pointers) Forget(hash uint64, ref record.Ref) {
	s := p.set(hash)
	for i := range s.entries {
		if h, r, _ := s.entries[i].load(); h == hash^p.region && r == ref {
			s.entries[i].lease.Store(0)
		}
	}
	runtime.KeepAlive(p)
}

// load returns an entry's words, and the hash of which it is the entry, in its region.
func (e *pointerEntry) load() (hash uint64, ref record.Ref, l lease) {
	ref, l = record.Ref(e.ref.Load()), lease(e.lease.Load())
	return e.tag.Load() ^ check(ref, l), ref, l
}

// check differs for any two leases of a reference, and for any two references with a lease:
// each step is a bijection of what changes. It ends with the finaliser of SplitMix64.
func check(ref record.Ref, l lease) uint64 {
	x := uint64(ref) ^ uint64(l&^(leaseHit|leaseAsked))*0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// find returns the first entry of a hash in a region, whether its lease has ended or not.
func (s *pointerSet) find(hash uint64) *pointerEntry {
	for i := range s.entries {
		if h, _, _ := s.entries[i].load(); h == hash {
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
		if !l.runs(now) {
			return &s.entries[i]
		}
		if e == nil || l < least {
			e, least = &s.entries[i], l
		}
	}
	return e
}
