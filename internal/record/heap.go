package record

import (
	"encoding/binary"
	"fmt"
	"time"
	"unsafe"

	"github.com/catfish-index/catfish/internal/lines"
)

// DefaultGrace is the base grace. A reader that takes a reference from tree or index
// needs a round trip or two to read the record; a second is ample for that and for a
// goroutine that waits for a processor, and bounds the memory of replaced records to a
// second's worth of updates.
const DefaultGrace = time.Second

// Options configure a Heap.
type Options struct {
	// Memory is the slab: zeroed, aligned to a page, a multiple of SpanBytes.
	// Pages that no record needs are not touched.
	Memory []byte
	// Boot is a number that no other heap has or had: see Space.
	Boot uint64
	// Grace is the base grace, 0: DefaultGrace.
	Grace time.Duration
	// Grow, if not nil, makes the slab usable piece by piece: it makes at least its
	// first bytes ready for remote readers, and returns the number of bytes that are.
	// New calls it, and Put before records use more than that. If it fails, or gives
	// less, a Put that finds no other place fails with ErrFull and its error, and
	// changes nothing; the next one that needs more asks again. nil: all of the slab is
	// usable.
	Grow func(bytes int64) (usable int64, err error)
	// GiveBack, if set, is called by Trim with unused memory. It may return the pages
	// to the system; their content does not matter then.
	GiveBack func(b []byte)
}

// Record is what Put stores. Revision, expiry and flags mean nothing to the
// heap.
type Record struct {
	Key      []byte // 1 to MaxKeyBytes
	Value    []byte // up to MaxValueBytes
	Revision uint64
	Expiry   int64
	Flags    uint16
	moved    bool   // by Compact, and born then:
	born     uint32 // as View.born
	leased   uint32 // of a moved head: until when leases on the old one keep its blocks
}

// Heap keeps records in a slab. One goroutine at a time may call its methods,
// but for Read and Space, which any may call at any time without a lock.
//
// now is the time since some moment before the heap was made, by a clock that
// never goes back. (If it does, the heap's stands still.)
type Heap struct {
	slab     []byte
	space    Space
	grace    time.Duration
	giveBack func([]byte)
	ask      func(bytes int64) (usable int64, err error) // Options.Grow
	now      time.Duration                               // the latest time that was handed in

	spans    []span
	limit    int     // spans in the slab, the header's included
	usable   int     // of these, from the first on, that may be opened
	denied   error   // why usable could not grow during the present call
	empty    []int32 // spans without a class, last in first out
	clean    int     // number of spans of empty, from the first on, that were given back
	classes  []classState
	draining int   // spans that Compact empties
	cursor   int32 // where Compact continues

	used         int // bytes of places in use
	retiredBytes int // of these, of dead records
	records      int // alive
	retired      fifo
	leased       []retiree // a heap by due: places that leases keep

	scratch []byte // a record under construction, see write.go
	refs    []byte // a head's references under construction
	onStore func() // tests: called after each store to the slab
}

// New makes an empty heap in a slab.
func New(o Options) (*Heap, error) {
	bytes := uint64(len(o.Memory))
	switch {
	case bytes < 2*SpanBytes || bytes%SpanBytes != 0 || bytes > MaxSlabBytes:
		return nil, fmt.Errorf("%w: slab of %d bytes, want a multiple of %d, at least twice that, up to %d",
			ErrOptions, bytes, SpanBytes, uint64(MaxSlabBytes))
	case uintptr(unsafe.Pointer(unsafe.SliceData(o.Memory)))%LineBytes != 0:
		return nil, fmt.Errorf("%w: the slab is not aligned to %d bytes", ErrOptions, LineBytes)
	case o.Grace < 0:
		return nil, fmt.Errorf("%w: grace of %v", ErrOptions, o.Grace)
	}
	h := &Heap{
		slab: o.Memory, space: Space{Bytes: bytes, Boot: o.Boot},
		grace: o.Grace, giveBack: o.GiveBack,
		spans: []span{{class: noClass}}, limit: int(bytes / SpanBytes),
		classes: make([]classState, len(classLines)), ask: o.Grow,
	}
	if h.usable = h.limit; o.Grow != nil {
		h.usable = 0
		if !h.grow(1) {
			return nil, fmt.Errorf("record: no memory for the header: %w", h.denied)
		}
	}
	if h.grace == 0 {
		h.grace = DefaultGrace
	}
	for i := range h.classes {
		h.classes[i].first = -1
	}
	h.space.writeHeader(h.slab)
	return h, nil
}

// Space is what readers need to know of the heap. Any goroutine may call it.
func (h *Heap) Space() Space { return h.space }

func (h *Heap) advance(now time.Duration) { h.now = max(h.now, now) }

// Advance sets the heap's clock, as other calls do, too. relocate, of Compact, may call
// it: the record that the index has dropped dies now, not when Compact began.
func (h *Heap) Advance(now time.Duration) { h.advance(now) }

// at is the memory that ref names.
func (h *Heap) at(ref Ref) []byte {
	off := ref.Offset()
	return h.slab[off : off+uint64(ref.Bytes())]
}

// Put writes a record and returns its reference, which no reader has until the caller
// publishes it. The caller keeps the slices. It fails with ErrTooLarge or ErrFull, and
// does not allocate but for growth of the heap's own account.
func (h *Heap) Put(r Record, now time.Duration) (Ref, error) {
	h.advance(now)
	h.denied = nil
	if len(r.Key) == 0 || len(r.Key) > MaxKeyBytes || len(r.Value) > MaxValueBytes {
		return 0, fmt.Errorf("%w: key of %d bytes, value of %d; want 1 to %d, up to %d",
			ErrTooLarge, len(r.Key), len(r.Value), MaxKeyBytes, MaxValueBytes)
	}
	n := r.keyEnd() + len(r.Value)
	if n > MaxBlockBytes {
		return h.putLong(&r)
	}
	ref, err := h.take(linesOf(n))
	if err != nil && len(r.Value) > 0 {
		return h.putLong(&r)
	}
	if err != nil {
		return 0, h.full(n)
	}
	h.write(ref, plainKind, &r, r.Value, len(r.Value))
	h.records++
	return ref, nil
}

// Kill marks a record as dead. When it returns, no kept reference leads to the record
// any more. Call it after index and tree have dropped the reference and before the
// write is acknowledged. The place is used again when no reader may read it any more.
// ErrStale: ref names no living record.
func (h *Heap) Kill(ref Ref, now time.Duration) error {
	h.advance(now)
	g, ok := h.alive(ref)
	if !ok {
		return fmt.Errorf("%w: %v is not alive", ErrStale, ref)
	}
	h.mark(ref, g)
	h.retire(ref, h.due(ref), g.kind() == longKind)
	return nil
}

func (h *Heap) mark(ref Ref, g guard) {
	h.store(h.at(ref), uint64(g&^aliveBit))
	h.records--
}

// alive returns the guardian of a record that is alive.
func (h *Heap) alive(ref Ref) (guard, bool) {
	if _, _, ok := h.locate(ref); !ok {
		return 0, false
	}
	g := guard(word(h.at(ref), 0))
	return g, g.generation() == ref.generation() && g.alive() && g.kind() != blockKind
}

// View is the record in place, for the goroutine that may write: it is good
// until the next call that changes the heap. key is as for Space.Parse. The
// check sum is not computed.
func (h *Heap) View(ref Ref, key []byte) (View, error) {
	g, ok := h.alive(ref)
	if !ok {
		return View{}, ErrDead
	}
	v := h.view(ref, g)
	if key != nil && string(key) != string(v.Key) {
		return View{}, ErrOtherKey
	}
	return v, nil
}

// view trusts the bytes, which this heap wrote.
func (h *Heap) view(ref Ref, g guard) View {
	b := h.at(ref)
	v := View{
		Revision: word(b, offRevision), Expiry: g.expiry(b),
		Flags: g.flags(), ValueBytes: int(half(b, offLen)),
	}
	end := g.keyEnd()
	v.Key = b[g.keyAt():end:end]
	if g.kind() == longKind {
		at := blocksAt(end)
		v.refs = b[at : at+int(word(b, at-countBytes))*refBytes]
	} else {
		v.Value = b[end : end+v.ValueBytes : end+v.ValueBytes]
	}
	return v
}

// Stats are sizes of a heap.
type Stats struct {
	Records      int `json:"records"`       // alive
	UsedBytes    int `json:"used_bytes"`    // of places in use
	RetiredBytes int `json:"retired_bytes"` // of these, of dead records
	SpanBytes    int `json:"span_bytes"`    // of spans that have a class: used places and free ones
	EmptyBytes   int `json:"empty_bytes"`   // of spans that were used and are not now
	LimitBytes   int `json:"limit_bytes"`   // of all spans that records may use
}

// Add adds the statistics of another Heap.
func (s *Stats) Add(o Stats) {
	s.Records += o.Records
	s.UsedBytes += o.UsedBytes
	s.RetiredBytes += o.RetiredBytes
	s.SpanBytes += o.SpanBytes
	s.EmptyBytes += o.EmptyBytes
	s.LimitBytes += o.LimitBytes
}

// Stats returns the statistics.
func (h *Heap) Stats() Stats {
	return Stats{
		Records: h.records, UsedBytes: h.used, RetiredBytes: h.retiredBytes,
		SpanBytes:  (len(h.spans) - 1 - len(h.empty)) * SpanBytes,
		EmptyBytes: len(h.empty) * SpanBytes,
		LimitBytes: (h.limit - 1) * SpanBytes,
	}
}

// Trim calls Options.GiveBack for up to most unused spans that it has not given back
// already, and returns their number.
func (h *Heap) Trim(most int) int {
	n := 0
	for ; h.giveBack != nil && n < most && h.clean < len(h.empty); n++ {
		off := int(h.empty[h.clean]) * SpanBytes
		h.giveBack(h.slab[off : off+SpanBytes : off+SpanBytes])
		h.clean++
	}
	return n
}

// store stores a word whole, and after what was stored before.
func (h *Heap) store(b []byte, w uint64) {
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], w)
	lines.Store(b[:8], word[:])
	if h.onStore != nil {
		h.onStore()
	}
}
