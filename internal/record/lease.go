package record

import "time"

// Leases
//
// A client that keeps a reference may read by it until its lease has ended. It counts
// the lease, a duration, from when it sent the request, which is before the server
// granted it; so the client's end is the earlier one. A read counts only if its
// completion was polled before that. The record holds the latest end of all leases
// granted. None is granted after its death.
//
//	lease word   bits 0-31         32-55          56-63
//	            | latest end,     | birth, s     | reads
//	            | s, rounded up   | modulo 2^24  |
//
// How long? A lease of L seconds saves a client its requests for L seconds,
// and keeps the place of a record that dies in the meantime for up to L
// seconds. So it is
//
//	the number of reads that the server saw lately, in seconds,
//	but at most the age of the record, and 1 to 64 s in any case.
//
// Reads: a record that is seldom asked for is not worth a lease beyond the base grace,
// which any client is granted. The count grows by one with each grant, up to 64, and is
// halved for each second in which no lease on the record ran. So it grows where clients
// come back within their leases, and is forgotten a few seconds after they stop.
//
// Age: an update makes a new record, and one that Compact moves keeps its birth, so the
// age of a record is how long its key has not changed. A key that has not changed for a
// while will not change for about as long again. And so a record is never kept longer
// after its death than it lived, or a second: the memory that leases keep of dead
// records of a key is at most that of its living ones, whatever clients do.
//
// Times of death and birth are of 1 s: the latest end is rounded up, the age
// may be a second too long. After 194 days (2^24 s) a record counts as young
// again, which only makes leases shorter for a minute.

// MaxLease is the longest lease that Grant gives.
const MaxLease = maxLease * time.Second

const (
	minLease = 1 // s
	maxLease = 64

	birthShift = 32
	birthMask  = 1<<24 - 1
	readShift  = 56
	endMask    = 1<<32 - 1
)

func leaseEnd(w uint64) time.Duration {
	return time.Duration(w&endMask) * time.Second
}

// lease is the lease word of a new record.
func (r *Record) lease(now time.Duration) uint64 {
	if r.moved {
		return uint64(r.born)<<birthShift | uint64(r.leased)
	}
	return uint64(now/time.Second) & birthMask << birthShift
}

// Grant gives a lease on a record whose reference a client has, and returns its
// length, 0 if the record is not alive (or was not given out by this heap:
// ref may come from a client).
func (h *Heap) Grant(ref Ref, now time.Duration) time.Duration {
	h.advance(now)
	if _, ok := h.alive(ref); !ok && (mutant != deadGranted || !h.known(ref)) {
		return 0
	}
	b := h.at(ref)
	w := word(b, offLease)
	second := uint64(h.now / time.Second)
	end, reads := w&endMask, w>>readShift
	if second > end {
		reads >>= min(second-end, 8)
	}
	reads = min(reads+1, maxLease)
	age := (second - w>>birthShift) & birthMask
	lease := max(min(reads, age), minLease)
	end = max(end, uint64((h.now+time.Duration(lease+1)*time.Second-1)/time.Second))
	w = reads<<readShift | w&(birthMask<<birthShift) | end&endMask
	h.store(b[offLease:], w)
	return time.Duration(lease) * time.Second
}

// Leased reports whether a lease on a record still runs.
func (h *Heap) Leased(ref Ref, now time.Duration) bool {
	h.advance(now)
	return leaseEnd(word(h.at(ref), offLease)) > h.now
}

// GrantMany renews the leases of many references, and appends their lengths
// to dst.
func (h *Heap) GrantMany(refs []Ref, now time.Duration, dst []time.Duration) []time.Duration {
	for _, ref := range refs {
		dst = append(dst, h.Grant(ref, now))
	}
	return dst
}

// known reports whether ref names the latest record of its place.
func (h *Heap) known(ref Ref) bool {
	_, _, ok := h.locate(ref)
	return ok && guard(word(h.at(ref), 0)).generation() == ref.generation()
}
