package remote

import (
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/offload"
)

const (
	// BlockBytes is the largest block of a Walk's own reads, the stash.
	BlockBytes = cuckoo.StashLines * cuckoo.LineBytes
	// MaxLookups is how many lookups one Walk carries.
	MaxLookups = 1 << 16
	// maxLooks bounds how often one lookup reads its buckets. One that meets a
	// growth needs three looks, one beside a kick of its key two more; a
	// writer that kicks the same key at every look is not met by chance.
	maxLooks = 8
)

// Result is how a lookup ended.
type Result uint8

// The results. A lookup is Unsettled if it was disturbed too often, or if the
// walk ended by an error before it; the server can be asked.
const (
	Unsettled Result = iota
	Found
	Absent
)

// Judgement is the Follower's result for a block.
type Judgement uint8

// The judgements. Stale: the reference leads to a record that is no longer
// the key's, so the lookup begins again.
const (
	OtherKey Judgement = iota
	Match
	Stale
	More // wait for the reads that were appended
)

// Follower reads the records that candidates lead to. It is called by the
// goroutine that runs the walk.
type Follower interface {
	// Candidates appends to dst the reads for references that may be those of
	// lookup i, an index of Begin's hashes. Ref.Region says where the records
	// are: region 0 of the walk is the table's slab. It
	// sets Hop to the value given, and may use the low 32 bits of Tag.
	// References are what the peer's memory held: check them. A lookup may have
	// several calls, and the same reference may come again.
	Candidates(i int, refs []uint64, hop uint16, dst []offload.Ref) ([]offload.Ref, error)
	// Visit looks at a block that was read, as offload.Traversal's does. The
	// judgement counts if the verdict is Accept. With More it appends further
	// reads to dst. After a Match the lookup's other reads are not shown.
	Visit(i int, ref offload.Ref, block []byte, dst []offload.Ref) ([]offload.Ref, Judgement, offload.Verdict, error)
}

// Walk is a Traversal that looks up hashes. It may be used again.
type Walk struct {
	table         *Table
	f             Follower
	lookups       []lookup
	begun         int
	todo          []offload.Ref
	candidates    []uint64 // scratch
	header        *cuckoo.Header
	headerPending bool
	waiting       []int32 // lookups at stage waiting
}

// Tags of reads: kind<<48 | lookup<<32 | a number of the kind. The top bit is never
// set, so that a Traversal around a Walk can mark its own reads by it.
const (
	kindShift, lookupShift = 48, 32
	kindLine               = iota // number: of the line
	kindStash
	kindHeader
	kindRecord // number: the Follower's
)

// lookup is the state of one lookup. It waits for pending reads of one stage.
type lookup struct {
	hash    uint64
	h       *cuckoo.Header // with which the lines were read
	lines   [4]cuckoo.Line // the present tables' two, then the old ones'
	last    [4]uint64      // versions at the look before
	stage   stage
	result  Result
	looks   uint8
	n       uint8 // lines: 2, or 4 while growing
	confirm bool  // last counts: unchanged lines settle the lookup
	kicked  bool
	stashed bool
	again   bool // a record was stale
	hop     uint16
	pending int
}

type stage uint8

const (
	waiting    stage = iota // for the header
	looking                 // for the buckets
	following               // for candidates' records
	atStash                 // for the stash
	following2              // for records of candidates from there
	over
)

// Begin prepares the walk to look up hashes, which it does not keep. After the walk has
// run, Result returns the result of each. hashes may be empty; Add adds some.
func (w *Walk) Begin(t *Table, hashes []uint64, f Follower) error {
	if len(hashes) > MaxLookups {
		return fmt.Errorf("%w: %d, want at most %d", ErrTooMany, len(hashes), MaxLookups)
	}
	w.table, w.f, w.begun = t, f, 0
	w.todo, w.waiting = w.todo[:0], w.waiting[:0]
	w.headerPending, w.header = false, t.known.Load()
	if cap(w.lookups) < len(hashes) {
		w.lookups = make([]lookup, len(hashes))
	}
	w.lookups = w.lookups[:len(hashes)]
	for i, h := range hashes {
		w.lookups[i] = lookup{hash: h, hop: 1}
	}
	return nil
}

// Add adds a lookup of another hash, by reads of round trip hop on, also while the walk
// runs, but not while a Follower is called.
func (w *Walk) Add(hash uint64, hop uint16) error {
	if len(w.lookups) == MaxLookups {
		return fmt.Errorf("%w: want at most %d", ErrTooMany, MaxLookups)
	}
	w.lookups = append(w.lookups, lookup{hash: hash, hop: hop})
	return nil
}

// Result is the result of lookup i: those of Begin first, then those of Add.
func (w *Walk) Result(i int) Result { return w.lookups[i].result }

// Next implements offload.Traversal. Lookups begin in order, when those before have no
// read to post for now.
func (w *Walk) Next() (offload.Ref, bool, error) {
	for len(w.todo) == 0 {
		if w.begun == len(w.lookups) {
			return offload.Ref{}, false, nil
		}
		w.begun++
		w.look(w.begun-1, w.lookups[w.begun-1].hop)
	}
	r := w.todo[len(w.todo)-1]
	w.todo = w.todo[:len(w.todo)-1]
	return r, true, nil
}

// look reads the buckets of lookup i, or first the header.
func (w *Walk) look(i int, hop uint16) {
	l := &w.lookups[i]
	if l.looks == maxLooks {
		l.stage = over
		return
	}
	if w.header == nil {
		w.renew(i, hop)
		return
	}
	l.looks++
	l.confirm = l.confirm && l.h == w.header
	l.h, l.stage, l.hop, l.n, l.again = w.header, looking, hop, 2, false
	w.line(i, 0, l.h.Bucket(l.hash, 0))
	w.line(i, 1, l.h.Bucket(l.hash, 1))
	if l.h.Old != 0 {
		l.n = 4
		w.line(i, 2, l.h.OldBucket(l.hash, 0))
		w.line(i, 3, l.h.OldBucket(l.hash, 1))
	}
	l.pending = int(l.n)
}

func (w *Walk) line(i int, number uint64, offset uint64) {
	w.todo = append(w.todo, offload.Ref{
		Offset: offset, Len: cuckoo.LineBytes, Read: offload.Read{Hop: w.lookups[i].hop},
		Tag: kindLine<<kindShift | uint64(i)<<lookupShift | number,
	})
}

// renew reads the header, for lookup i and others that find it old.
func (w *Walk) renew(i int, hop uint16) {
	l := &w.lookups[i]
	l.stage, l.confirm = waiting, false
	if l.looks == maxLooks {
		l.stage = over
		return
	}
	w.waiting = append(w.waiting, int32(i))
	if !w.headerPending {
		w.headerPending = true
		w.todo = append(w.todo, offload.Ref{Len: cuckoo.LineBytes, Read: offload.Read{Hop: hop}, Tag: kindHeader << kindShift})
	}
}

// Visit implements offload.Traversal.
func (w *Walk) Visit(ref offload.Ref, b []byte) (offload.Verdict, error) {
	i := int(uint16(ref.Tag >> lookupShift))
	switch ref.Tag >> kindShift {
	case kindHeader:
		return w.visitHeader(ref, b)
	case kindLine:
		l := &w.lookups[i]
		line, err := cuckoo.ParseLine(b)
		if err != nil {
			return torn(err)
		}
		l.lines[uint32(ref.Tag)%4] = line
		if l.pending--; l.pending > 0 {
			return offload.Accept, nil
		}
		return offload.Accept, w.looked(i)
	case kindStash:
		return w.visitStash(i, b)
	}
	return w.visitRecord(i, ref, b)
}

func torn(err error) (offload.Verdict, error) {
	if errors.Is(err, cuckoo.ErrTorn) {
		return offload.Retry, nil
	}
	return 0, err
}

func (w *Walk) visitHeader(ref offload.Ref, b []byte) (offload.Verdict, error) {
	h, err := cuckoo.ParseHeader(b, w.table.Bytes)
	switch {
	case err != nil:
		return torn(err)
	case h.BootID != w.table.BootID:
		return 0, fmt.Errorf("%w: boot id %#x, was %#x", ErrServerChanged, h.BootID, w.table.BootID)
	}
	w.table.Learn(h)
	w.header = w.table.known.Load()
	w.headerPending = false
	for _, i := range w.waiting { // once the header is known no lookup waits for it again
		w.look(int(i), ref.Hop+1)
	}
	w.waiting = w.waiting[:0]
	return offload.Accept, nil
}
