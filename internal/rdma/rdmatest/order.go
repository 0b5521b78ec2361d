package rdmatest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/catfish-index/catfish/internal/rdma"
)

var orderCases = []testCase{
	{"ReadSeesWrite", caseReadSeesWrite},
	{"WriteAfterRead", caseWriteAfterRead},
	{"BytesBeforeEvent", caseBytesBeforeEvent},
	{"WritesBeforeEvent", caseWritesBeforeEvent},
	{"WritesBeforeWord", caseWritesBeforeWord},
	{"LinesAreAtomic", caseLinesAreAtomic},
}

// caseReadSeesWrite posts a Write and a Read of the same bytes at once.
func caseReadSeesWrite(e *env) {
	p := e.pair(16384)
	b := p.c.mem.Bytes()
	for i := range 500 {
		n := 1 + i*7%4000
		fill(b[:n], uint64(i))
		e.post(p.cq, unsignaled(write(1, p.c.mem, 0, p.s.mem, 3, n)),
			read(2, p.c.mem, 8192, p.s.mem, 3, n))
		e.takeOK(p.c.send, 1)
		if !bytes.Equal(b[:n], b[8192:8192+n]) {
			e.Fatalf("round %d: read did not see the write before it", i)
		}
	}
}

// caseWriteAfterRead: the later Write must not overtake the Read.
func caseWriteAfterRead(e *env) {
	p := e.pair(1 << 15)
	b := p.c.mem.Bytes()
	const n, second = 8192, 16384 // regions of b: old, new and what was read
	for i := range 100 {
		fill(b[:n], uint64(2*i))
		fill(b[n:2*n], uint64(2*i+1))
		e.post(p.cq, unsignaled(write(1, p.c.mem, 0, p.s.mem, 0, n)),
			unsignaled(read(2, p.c.mem, second, p.s.mem, 0, n)),
			write(3, p.c.mem, n, p.s.mem, 0, n))
		e.takeOK(p.c.send, 1)
		if !bytes.Equal(b[:n], b[second:second+n]) {
			e.Fatalf("round %d: read saw a later write", i)
		}
	}
}

const (
	orderEvents = 6000
	orderSlots  = 128  // events in flight
	orderSlot   = 2048 // bytes of a slot
)

// caseBytesBeforeEvent sends thousands of WriteImms in a tight loop; the
// target checks each message's bytes as soon as its event arrives.
func caseBytesBeforeEvent(e *env) {
	runOrder(e, func(i int, c, s rdma.Region) []rdma.WorkRequest {
		o, n := i%orderSlots*orderSlot, orderLen(i)
		return []rdma.WorkRequest{writeImm(uint64(i), uint32(i), c, o, s, o, n)}
	})
}

// caseWritesBeforeEvent cuts each message into two Writes and a WriteImm
// without bytes.
func caseWritesBeforeEvent(e *env) {
	runOrder(e, func(i int, c, s rdma.Region) []rdma.WorkRequest {
		o, n := i%orderSlots*orderSlot, orderLen(i)
		h := n / 2
		return []rdma.WorkRequest{
			unsignaled(write(0, c, o+h, s, o+h, n-h)),
			unsignaled(write(0, c, o, s, o, h)),
			event(uint64(i), uint32(i)),
		}
	})
}

// orderLen is the length of message i: 1 to 2000 bytes, all residues.
func orderLen(i int) int { return 1 + i*37%2000 }

func orderFill(b []byte, i int) {
	for k := range b {
		b[k] = byte(i>>8) ^ byte(i) ^ byte(k*13)
	}
}

func runOrder(e *env, msg func(i int, c, s rdma.Region) []rdma.WorkRequest) {
	p := e.pair(orderSlots * orderSlot)
	free := make(chan struct{}, orderSlots) // slots that may be written
	for range orderSlots {
		free <- struct{}{}
	}
	stop := make(chan struct{})
	var w workers
	w.run(func() error { // target
		defer close(stop)
		want := make([]byte, orderSlot)
		for i := range orderEvents {
			cs, err := collect(p.s.recv, 1, e.cfg.Patience)
			if err != nil {
				return fmt.Errorf("event %d: %w", i, err)
			}
			c := cs[0]
			o, n := i%orderSlots*orderSlot, orderLen(i)
			orderFill(want[:n], i)
			if c.Err() != nil || c.Imm != uint32(i) {
				return fmt.Errorf("event %d: imm %d, %w", i, c.Imm, c.Err())
			}
			if !bytes.Equal(p.s.mem.Bytes()[o:o+n], want[:n]) {
				return fmt.Errorf("event %d came before its %d bytes", i, n)
			}
			free <- struct{}{}
		}
		return nil
	})
	w.run(func() error { // initiator
		next := 0
		done := func(c rdma.Completion) error {
			if c.ID != uint64(next) {
				return fmt.Errorf("completion %d, want %d", c.ID, next)
			}
			next++
			return nil
		}
		for i := range orderEvents {
			select {
			case <-free:
			case <-stop:
				return nil // the target reports why
			}
			o := i % orderSlots * orderSlot
			orderFill(p.c.mem.Bytes()[o:o+orderLen(i)], i)
			err := postAll(p.cq, p.c.send, msg(i, p.c.mem, p.s.mem), e.cfg.Patience, done)
			if err != nil {
				return err
			}
		}
		rest, err := collect(p.c.send, orderEvents-next, e.cfg.Patience)
		for _, c := range rest {
			if err := done(c); err != nil {
				return err
			}
		}
		return err
	})
	e.join(&w)
}

// caseLinesAreAtomic reads lines while the target's CPU stores to them: a
// version in lane 0, odd while lanes 1 to 7 change, even and equal to them
// afterwards. With the stores in program order, an even version beside other
// lanes can only come from a line read in parts. Each read requests a burst
// of stores, about as long as a read over a socket: on a single processor, a
// writer that never paused would prevent the network poller from running.
//
// Where lines may be torn (Info.TornLines), the case instead checks the
// content on which two consecutive reads agree.
func caseLinesAreAtomic(e *env) {
	const lines, size = 8, 8 * rdma.LineBytes
	p := e.pair(4096)
	const burst = 200
	const second = 1024 // distance of the second read's destination
	torn := p.c.dev.Info().TornLines
	more := make(chan struct{}, 1)
	var w workers
	w.run(func() error {
		b := p.s.mem.Bytes()
		store := func(v uint64) {
			for l := range lines {
				lane := func(i int) *uint64 {
					return (*uint64)(unsafe.Pointer(&b[l*rdma.LineBytes+i*8]))
				}
				atomic.StoreUint64(lane(0), v-1)
				for i := 1; i < 8; i++ {
					atomic.StoreUint64(lane(i), v)
				}
				atomic.StoreUint64(lane(0), v)
			}
		}
		v := uint64(0)
		for range more {
			for range burst {
				v += 2
				store(v)
			}
		}
		return nil
	})
	w.run(func() error {
		defer close(more)
		versions := map[uint64]bool{}
		check := func(b []byte, round int) error {
			for l := range lines {
				line := b[l*rdma.LineBytes:][:rdma.LineBytes]
				v := binary.LittleEndian.Uint64(line)
				if v%2 == 1 {
					continue
				}
				versions[v] = true
				for i := 8; i < rdma.LineBytes; i += 8 {
					if got := binary.LittleEndian.Uint64(line[i:]); got != v {
						return fmt.Errorf("read %d: line %d is mixed: version %d, lane %d has %d",
							round, l, v, i/8, got)
					}
				}
			}
			return nil
		}
		// Until the reads met enough moments; a slow provider meets fewer per
		// second, but not fewer per read.
		for round := 0; round < 2000 || len(versions) < 100; round++ {
			if round > 1_000_000 {
				return fmt.Errorf("%d reads saw only %d versions: the writer's stores do not arrive",
					round, len(versions))
			}
			select {
			case more <- struct{}{}:
			default:
			}
			if round%16 == 0 { // reads may be complete without a wait
				runtime.Gosched()
			}
			lo := 1024 + round%9 // the local side may be misaligned
			wrs := []rdma.WorkRequest{read(1, p.c.mem, lo, p.s.mem, 0, size)}
			if torn {
				wrs = append(wrs, unsignaled(read(0, p.c.mem, lo+second, p.s.mem, 0, size)))
				slices.Reverse(wrs)
			}
			if n, err := p.cq.Post(wrs); n != len(wrs) {
				return err
			}
			cs, err := collect(p.c.send, 1, e.cfg.Patience)
			if err != nil {
				return err
			}
			if err := cs[0].Err(); err != nil {
				return err
			}
			if torn && !bytes.Equal(p.c.mem.Bytes()[lo:lo+size], p.c.mem.Bytes()[lo+second:lo+second+size]) {
				continue
			}
			if err := check(p.c.mem.Bytes()[lo:lo+size], round); err != nil {
				return err
			}
		}
		return nil
	})
	e.join(&w)
}
