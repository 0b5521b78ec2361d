package shm

import (
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
	"unsafe"
)

// A receive ring carries the events of one direction of one connection.
// The receiver makes the memory file; both sides map it writable.
//
//	offset
//	  0    head    written by the receiver: events taken so far
//	 64    armed   1: the receiver sleeps, or does not poll here
//	128    full    1: the sender found no room
//	192    slot 0 | slot 1 | slot 2 | slot 3      16 bytes each,
//	256    slot 4 | ...                           a power of two of them
//
//	slot   0: turn u32, length u32     one 8-byte store publishes it
//	       8: imm u32, 0
//
// Event number i goes to slot i mod slots with turn i+1 (mod 2^32); the slot
// held i+1-slots before, or was initialised to it. So the receiver reads one
// line, which stays in its cache while the ring is idle, and knows the only
// two values that turn can have: anything else indicates a broken peer. The
// sender reads head only when its own count says that the ring may be full,
// and checks that head neither decreases nor passes its tail. Positions are
// kept in private memory on both sides, so that a peer cannot change them.
//
// # Sleeping (Dekker)
//
// The receiver may go to sleep while the sender pushes:
//
//	receiver                              sender
//	R1  armed = 1                         S1  slot = event
//	    --- total order ---                   --- total order ---
//	R2  load slot; event? stay awake      S2  load armed; 1? CAS to 0,
//	R3  sleep                                 then send a wake-up
//
// Each side writes, then reads the other's word. Go's atomics are
// sequentially consistent (on x86 the store is an XCHG, a full fence): all
// four lie in one total order. If S1 is before R2, the receiver sees the
// event. If not, then R1 < R2 < S1 < S2, so the sender sees armed and sends a
// wake-up. So no event is missed by a sleeper; both may happen, which costs a
// spurious wake-up. The wake-up is a packet on the connection's socket, whose
// reader passes the pair to the completion queue. If the socket is full,
// unread wake-ups or revocations are in it, and each of them has the same
// effect (there is at most one unread ask and one answer).
//
// armed is written only around sleeps, so while messages flow the sender's
// load of it hits its cache.
//
// A full ring is the same with roles exchanged: the sender writes full, then
// reads head once more; the receiver writes head, then reads full, and if it
// is set sends a wake-up that ends the sender's Wait.
const (
	headOffset  = 0
	armedOffset = 64
	fullOffset  = 128
	slotsOffset = 192
	slotBytes   = 16
)

// slotsFor rounds a depth up to slots.
func slotsFor(depth int) uint32 { return 1 << bits.Len32(uint32(depth-1)) }

// ringBytes is the memory of a ring, before rounding to pages.
func ringBytes(depth int) int { return slotsOffset + int(slotsFor(depth))*slotBytes }

// word returns the atomic at an offset.
//
// SAFETY: callers pass offsets below ringBytes of the memory's depth,
// multiples of 8 (4 for 32 bits), and mem is page-aligned.
func word64(mem []byte, off int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&mem[off]))
}

func word32(mem []byte, off int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&mem[off]))
}

// receiver is the end that owns the ring. Its caller serialises calls.
type receiver struct {
	mem   []byte
	armed *atomic.Uint32
	full  *atomic.Uint32
	head  *atomic.Uint64
	pos   uint64 // next event to take
	slots uint32
}

// newReceiver initialises a ring of zeroed memory. The first event's number
// is a random one below slots, and head records it: all rings begin at the
// same offset of a page, so their first slots would all fall into one set of
// the first-level cache, 8 lines for 100 idle rings.
func newReceiver(mem []byte, depth int) *receiver {
	r := &receiver{
		mem: mem, slots: slotsFor(depth),
		armed: word32(mem, armedOffset), full: word32(mem, fullOffset), head: word64(mem, headOffset),
	}
	r.pos = rand.Uint64N(uint64(r.slots))
	for i := range uint64(r.slots) {
		r.slot(r.pos + i).Store(uint64(uint32(r.pos+i) + 1 - r.slots))
	}
	r.head.Store(r.pos)
	r.armed.Store(1) // until a queue polls it
	return r
}

func (r *receiver) slot(pos uint64) *atomic.Uint64 {
	return word64(r.mem, slotsOffset+int(uint32(pos)&(r.slots-1))*slotBytes)
}

// turns returns the values of the next slot's turn when it holds an event and
// when it does not.
func (r *receiver) turns() (ready, idle uint32) {
	ready = uint32(r.pos + 1)
	return ready, ready - r.slots
}

type ringState uint8

const (
	ringIdle ringState = iota
	ringEvent
	ringBroken
)

// take returns the next event. done publishes the number taken.
func (r *receiver) take() (imm, length uint32, state ringState) {
	s := r.slot(r.pos)
	w := s.Load()
	switch ready, idle := r.turns(); uint32(w) {
	case ready:
	case idle:
		return 0, 0, ringIdle
	default:
		return 0, 0, ringBroken
	}
	imm = (*atomic.Uint32)(unsafe.Add(unsafe.Pointer(s), 8)).Load()
	r.pos++
	return imm, uint32(w >> 32), ringEvent
}

// done returns the slots taken so far to the sender. It reports whether the
// sender waits for them.
func (r *receiver) done() (wake bool) {
	r.head.Store(r.pos)
	return r.full.Load() != 0 && r.full.CompareAndSwap(1, 0)
}

// sender is the other end. Its caller serialises calls.
type sender struct {
	mem    []byte
	armed  *atomic.Uint32
	full   *atomic.Uint32
	head   *atomic.Uint64
	tail   uint64 // events pushed
	known  uint64 // last head seen
	slots  uint32
	depth  uint64
	broken bool
}

func newSender(mem []byte, depth int) *sender {
	start := word64(mem, headOffset).Load()
	return &sender{
		mem: mem, slots: slotsFor(depth), depth: uint64(depth), tail: start, known: start,
		armed: word32(mem, armedOffset), full: word32(mem, fullOffset), head: word64(mem, headOffset),
	}
}

// room reports whether n more events fit; if not, the receiver sends a
// wake-up when it has taken some. It sets broken if the receiver's count is
// impossible.
func (s *sender) room(n int) bool {
	if s.tail+uint64(n)-s.known <= s.depth || s.refresh(n) {
		return true
	}
	s.full.Store(1)
	return s.refresh(n)
}

func (s *sender) refresh(n int) bool {
	h := s.head.Load()
	if h < s.known || h > s.tail {
		s.broken = true
		return false
	}
	s.known = h
	return s.tail+uint64(n)-h <= s.depth
}

// push requires room(1). It reports whether the receiver must be woken.
func (s *sender) push(imm, length uint32) (wake bool) {
	off := slotsOffset + int(uint32(s.tail)&(s.slots-1))*slotBytes
	word32(s.mem, off+8).Store(imm)
	s.tail++
	word64(s.mem, off).Store(uint64(length)<<32 | uint64(uint32(s.tail))) // S1
	return s.armed.Load() != 0 && s.armed.CompareAndSwap(1, 0)            // S2
}
