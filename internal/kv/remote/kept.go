package remote

import (
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/offload"
)

// Kept references
//
// A client may keep a reference and read its record without looking the key up:
//
//	kept reference ---- the record ---------------- round trip 1, 1 read
//	   no good? hash -- both buckets -------------- round trip 2, 2 reads
//	   reference ------ the record ---------------- round trip 3, 1 read
//
// The other keys of the call are looked up in the same walk meanwhile.
//
// # When a kept reference is good
//
// Its record is taken if the read was polled before Kept.Until, the reference is of
// this use of the place, the check sum is right, the key is equal, and the guardian is
// alive. Then the value is the state of the key at the moment when the guardian's line
// was read (internal/record/readers.go, "By message"), which lies in the call. A lookup takes a
// dead record, since it saw the index lead to it during the call. A record by a kept
// reference may have died long before: it is refused, as in every other case. Refused
// means looked up, never an error: whatever the reference, and wherever it leads, the
// answer is that of a lookup then.
//
// # Until when a reference may be kept without a lease
//
// Nothing but time keeps the place of a dead record from being used again, and a client
// may only trust a time that the server counts as well. With a lease the server sends
// that time. Without, it is the base grace (Answer.Until):
//
//	since <= posted <= R < D,   Until = since + grace < D + grace
//
// The Reader reads its clock (since) before the walk posts its first read, and again
// before a key's buckets are read again because a record was late or stale. A read of
// the index that found the reference was posted after that, and took place at R, when
// the index led to the record: so it was alive, and dies at D later than R, if at all
// (its writer makes the index drop it before it kills). Its place is used again at D +
// grace at the earliest. So a read polled before Until is in time, by the argument for
// a lease that was asked for at since. Rates of clocks differ by so little that a read
// at the very end of a second may be late by microseconds; generation and check sum
// refuse it as any other late one.
//
// For nearly all references of a walk since is its beginning, though most were read
// later: that is on the safe side.

// Kept is a reference that a client has kept for a key.
type Kept struct {
	Ref record.Ref // 0: none
	// Until is the latest time for the record to arrive, by the Reader's clock: the end
	// of a lease, counted from when it was asked for, or Answer.Until of an earlier
	// call.
	Until time.Duration
}

// keptTag marks reads by kept references; the rest of the tag is the key's number.
const keptTag = 1 << 63

// traversal is a Reader's walk: reads by kept references, and the lookups.
type traversal Reader

// Next implements offload.Traversal.
func (t *traversal) Next() (offload.Ref, bool, error) {
	for t.next < len(t.kept) {
		i := t.next
		t.next++
		if t.answers[i].Invalid || t.kept[i].Ref == 0 {
			continue
		}
		ref := t.kept[i].Ref
		return offload.Ref{
			Offset: ref.Offset(), Len: uint32(ref.Bytes()), Read: offload.Read{Hop: 1, Region: recordsRegion}, Tag: keptTag | uint64(i),
		}, true, nil
	}
	return t.walk.Next()
}

// Visit implements offload.Traversal.
func (t *traversal) Visit(r offload.Ref, block []byte) (offload.Verdict, error) {
	if r.Tag&keptTag == 0 {
		return t.walk.Visit(r, block)
	}
	i := int(r.Tag &^ keptTag)
	a, k := &t.answers[i], t.kept[i]
	now := t.now()
	if now < k.Until {
		from := len(t.arena)
		own, ok := (*Reader)(t).own(i, block)
		if !ok {
			a.Kept = true
			return offload.Accept, nil
		}
		if v, err := t.m.Space.Parse(k.Ref, own, t.keys[i]); err == nil {
			a.found(v, k.Ref)
			a.Kept = true
			return offload.Accept, nil
		}
		t.arena = t.arena[:from]
	}
	a.Invalid = true
	if t.only {
		a.Err = ErrNotKept
		return offload.Accept, nil
	}
	t.lookups = append(t.lookups, lookup{key: i, since: now})
	return offload.Accept, t.walk.Add(cuckoo.Hash(t.m.Seed, t.keys[i]), r.Hop+1)
}

// usable reports whether a kept reference may be used for a read.
func (r *Reader) usable(k Kept) bool {
	return k.Until > r.begun && r.m.Space.Check(k.Ref) == nil && k.Ref.Bytes() <= r.m.Block
}
