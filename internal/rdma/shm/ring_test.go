package shm

import (
	"runtime"
	"sync"
	"testing"
	"unsafe"
)

// newRing returns both ends of a ring in ordinary memory.
func newRing(depth int) (*receiver, *sender) {
	words := make([]uint64, ringBytes(depth)/8)
	mem := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)
	r := newReceiver(mem, depth)
	return r, newSender(mem, depth)
}

func TestRingKeepsOrderAndDepth(t *testing.T) {
	for _, depth := range []int{1, 2, 3, 7, 256} {
		r, s := newRing(depth)
		sent, got := uint32(0), uint32(0)
		for range 5 * depth {
			n := 0
			for ; s.room(1); n++ {
				s.push(sent, sent+7)
				sent++
			}
			if int(sent-got) != depth {
				t.Fatalf("depth %d: %d events fit", depth, sent-got)
			}
			for range 1 + n/2 {
				imm, length, state := r.take()
				if state != ringEvent || imm != got || length != got+7 {
					t.Fatalf("depth %d: event %d: imm %d, length %d, state %d", depth, got, imm, length, state)
				}
				got++
			}
			r.done()
		}
		for ; got < sent; got++ {
			if imm, _, state := r.take(); state != ringEvent || imm != got {
				t.Fatalf("depth %d: lost event %d", depth, got)
			}
		}
		if _, _, state := r.take(); state != ringIdle {
			t.Fatalf("depth %d: state %d of an empty ring", depth, state)
		}
	}
}

func TestRingCountsWrap(t *testing.T) {
	r, s := newRing(4)
	// Near the end of the 32-bit turns, at the same slot.
	near := uint64(1)<<32 - 2 + r.pos%4
	r.pos, s.tail, s.known = near, near, near
	for i := range uint64(4) {
		r.slot(near + i).Store(uint64(uint32(near+i) + 1 - r.slots))
	}
	r.done()
	for i := range uint32(20) {
		if !s.room(1) {
			t.Fatalf("no room for event %d", i)
		}
		s.push(i, 0)
		if imm, _, state := r.take(); state != ringEvent || imm != i {
			t.Fatalf("event %d: imm %d, state %d", i, imm, state)
		}
		r.done()
	}
}

func TestReceiverRefusesGarbage(t *testing.T) {
	for _, turn := range []uint32{0, 1 << 31, 17} {
		r, _ := newRing(8)
		ready, idle := r.turns()
		if turn == ready || turn == idle {
			turn += 100
		}
		r.slot(r.pos).Store(uint64(turn))
		if _, _, state := r.take(); state != ringBroken {
			t.Errorf("turn %d: state %d", turn, state)
		}
	}
}

func TestSenderRefusesGarbage(t *testing.T) {
	for name, head := range map[string]func(s *sender) uint64{
		"past the tail": func(s *sender) uint64 { return s.tail + 1 },
		"falling":       func(s *sender) uint64 { return s.known - 1 },
		"far":           func(s *sender) uint64 { return s.tail + 1<<63 },
	} {
		r, s := newRing(4)
		for s.room(1) {
			s.push(1, 1)
		}
		r.take()
		r.done()
		if !s.room(1) {
			t.Fatal("no room after one was taken")
		}
		s.push(1, 1)
		s.head.Store(head(s))
		if s.room(1) || !s.broken {
			t.Errorf("head %s: accepted", name)
		}
	}
}

// Both ends sleep on channels whenever they can; a wake-up that the protocol
// loses ends in a deadlock (the test's time limit).
func TestRingLosesNoWakeUp(t *testing.T) {
	const events = 30_000
	r, s := newRing(4)
	wakeReceiver, wakeSender := make(chan bool, 1), make(chan bool, 1)
	wake := func(c chan bool) {
		select {
		case c <- true:
		default:
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range uint32(events) {
			for !s.room(1) {
				<-wakeSender
			}
			if s.push(i, 0) {
				wake(wakeReceiver)
			}
			if i%97 == 0 {
				runtime.Gosched()
			}
		}
	})
	for i := uint32(0); i < events; {
		imm, _, state := r.take()
		if state == ringEvent {
			if imm != i {
				t.Fatalf("event %d has imm %d", i, imm)
			}
			i++
			if r.done() {
				wake(wakeSender)
			}
			continue
		}
		r.armed.Store(1)
		if _, idle := r.turns(); uint32(r.slot(r.pos).Load()) == idle {
			<-wakeReceiver
		}
		r.armed.Store(0)
	}
	wg.Wait()
}
