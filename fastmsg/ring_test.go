package fastmsg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/tailword"
	"pgregory.net/rapid"
)

// heapRegion is a fake region, of ordinary memory.
type heapRegion struct {
	mem []byte
	key rdma.Key
}

func newHeapRegion(n int) *heapRegion     { return &heapRegion{mem: make([]byte, n), key: 7} }
func (r *heapRegion) Bytes() []byte       { return r.mem }
func (r *heapRegion) Key() rdma.Key       { return r.key }
func (r *heapRegion) Remote() rdma.Remote { return rdma.Remote{Key: r.key} }
func (r *heapRegion) Access() rdma.Access { return rdma.RemoteWrite }
func (r *heapRegion) Revoke() error       { return nil }
func (r *heapRegion) Close() error        { return nil }
func carryOut(dst []byte, wr rdma.WorkRequest) {
	l := wr.Local
	copy(dst[wr.Remote.Addr:], l.Region.Bytes()[l.Offset:l.Offset+l.Len])
}

// pair is a ring with both ends; requests are executed at once.
type pair struct {
	out sendRing
	in  recvRing
	mem []byte // the reader's memory
	wrs [maxWRs]rdma.WorkRequest

	announced []uint32 // immediates in flight to the reader
	seen      uint64   // the tail word
}

// overAnnouncements runs a test with both kinds of announcements.
func overAnnouncements(t *testing.T, run func(t *testing.T, inMemory bool)) {
	t.Run("announced=events", func(t *testing.T) { run(t, false) })
	t.Run("announced=memory", func(t *testing.T) { run(t, true) })
}

func newPair(ringBytes int, inMemory bool) *pair {
	p := &pair{mem: newHeapRegion(regionBytes(ringBytes, inMemory)).mem}
	p.out = newSendRing(newHeapRegion(mirrorBytes(ringBytes, inMemory)), rdma.Remote{Key: 1}, ringBytes, inMemory)
	p.in = newRecvRing(p.mem[:ringBytes], inMemory)
	return p
}

// loaded is the tail word.
func (p *pair) loaded() uint64 {
	return binary.NativeEndian.Uint64(p.mem[p.in.size:])
}

// flush reports whether anything was posted.
func (p *pair) flush() bool {
	n := p.out.prepare(&p.wrs)
	for i := range p.wrs[:n] {
		carryOut(p.mem, p.wrs[i])
		if p.wrs[i].Op == rdma.OpWriteImm || p.wrs[i].Remote.Addr == p.out.size {
			p.announced = append(p.announced, p.wrs[i].Imm)
		}
	}
	return n > 0
}

// refuse is a flush of which Post takes at most taken requests, and not
// all. It returns the number of requests.
func (p *pair) refuse(taken int) int {
	posted := p.out.posted
	n := p.out.prepare(&p.wrs)
	if n > 0 {
		taken = min(taken, n-1)
		for i := range p.wrs[:taken] {
			carryOut(p.mem, p.wrs[i])
		}
		p.out.abort(posted, taken)
	}
	return n
}

// arrive delivers the oldest announcement, or all of them by the tail word.
func (p *pair) arrive(t interface{ Fatal(...any) }) {
	if p.in.inMemory() {
		p.announced = nil
		w := p.loaded()
		if w == p.seen {
			return
		}
		p.seen = w
		n, ok := tailword.Units(w)
		if !ok {
			t.Fatal("the tail word is not complete")
		}
		if err := p.in.announceTail(n); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(p.announced) == 0 {
		return
	}
	if err := p.in.announce(p.announced[0]); err != nil {
		t.Fatal(err)
	}
	p.announced = p.announced[1:]
}

// read takes one message; payload is copied.
func (p *pair) read(t interface{ Fatal(...any) }) (Message, bool) {
	m, size, ok, err := p.in.next()
	if err != nil {
		t.Fatal(err)
	}
	if ok {
		m.Payload = bytes.Clone(m.Payload)
		p.in.consume(size)
	}
	return m, ok
}

func (p *pair) giveBack(t interface{ Fatal(...any) }) {
	if imm := p.in.due(); imm != 0 {
		p.in.gaveBack(imm)
		if err := p.out.returned(imm &^ returnBit); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRingIsAQueue drives a small ring by random steps and compares it
// with a slice: nothing lost, doubled, reordered or changed.
func TestRingIsAQueue(t *testing.T) {
	overAnnouncements(t, func(t *testing.T, inMemory bool) {
		rapid.Check(t, func(t *rapid.T) {
			p := newPair(MinRingBytes, inMemory)
			var want []Message
			id := uint64(0)
			t.Repeat(map[string]func(*rapid.T){
				"append": func(t *rapid.T) {
					n := rapid.IntRange(0, maxMessage(MinRingBytes)-headerBytes).Draw(t, "bytes")
					payload := bytes.Repeat([]byte{byte(id)}, n)
					if p.out.append(Kind(1+id%255), FlagEnd, id, payload) {
						want = append(want, Message{Kind(1 + id%255), FlagEnd, id, payload})
						id++
					}
				},
				"flush":  func(*rapid.T) { p.flush() },
				"refuse": func(t *rapid.T) { p.refuse(rapid.IntRange(0, maxWRs-1).Draw(t, "taken")) },
				"arrive": func(t *rapid.T) { p.arrive(t) },
				"read": func(t *rapid.T) {
					m, ok := p.read(t)
					if !ok {
						return
					}
					if len(want) == 0 {
						t.Fatalf("message %d read, none was written", m.ID)
					}
					if w := want[0]; m.Kind != w.Kind || m.ID != w.ID ||
						m.Flags != w.Flags || !bytes.Equal(m.Payload, w.Payload) {
						t.Fatalf("read %+v, want %+v", m, w)
					}
					want = want[1:]
				},
				"return": func(t *rapid.T) { p.giveBack(t) },
				"": func(t *rapid.T) {
					if p.out.head > p.out.posted || p.out.posted > p.out.tail ||
						p.out.tail-p.out.head > p.out.size {
						t.Fatalf("head %d, posted %d, tail %d, size %d",
							p.out.head, p.out.posted, p.out.tail, p.out.size)
					}
				},
			})
		})
	})
}

// TestWrapAtEveryOffset sends a message of every size when the tail is
// at every offset of the ring.
func TestWrapAtEveryOffset(t *testing.T) {
	overAnnouncements(t, func(t *testing.T, inMemory bool) {
		const ring = MinRingBytes
		for at := 0; at < ring; at += unitBytes {
			for _, n := range []int{0, 1, 8, 100, ring/4 - headerBytes} {
				p := newPair(ring, inMemory)
				start := uint64(at)
				p.out.tail, p.out.posted, p.out.head = start, start, start
				p.in.tail, p.in.head, p.in.returned = start, start, start
				payload := bytes.Repeat([]byte{0xa5}, n)
				if !p.out.append(9, FlagEnd, 42, payload) {
					t.Fatalf("offset %d: %d bytes do not fit an empty ring", at, n)
				}
				p.flush()
				p.arrive(t)
				m, ok := p.read(t)
				if !ok || m.Kind != 9 || m.ID != 42 || !bytes.Equal(m.Payload, payload) {
					t.Fatalf("offset %d, %d bytes: got %+v, %v", at, n, m, ok)
				}
				if m, ok := p.read(t); ok {
					t.Fatalf("offset %d, %d bytes: second message %+v", at, n, m)
				}
			}
		}
	})
}

// TestLazyHeadNeverDeadlocks tests the argument in sendring.go: whatever was
// written before, when the reader has read everything and returned all that
// is due, the largest message fits and can be posted.
func TestLazyHeadNeverDeadlocks(t *testing.T) {
	overAnnouncements(t, func(t *testing.T, inMemory bool) {
		rapid.Check(t, func(t *rapid.T) {
			p := newPair(MinRingBytes, inMemory)
			largest := make([]byte, maxMessage(MinRingBytes)-headerBytes)
			sizes := rapid.SliceOfN(rapid.IntRange(0, len(largest)), 1, 200).Draw(t, "sizes")
			each := rapid.Bool().Draw(t, "flush each")
			for _, n := range sizes {
				if !p.out.append(1, FlagEnd, 0, largest[:n]) || each && !p.flush() {
					p.flush()
					for len(p.announced) > 0 {
						p.arrive(t)
					}
					for ok := true; ok; {
						_, ok = p.read(t)
					}
					before := p.out.head
					p.giveBack(t)
					if !p.out.append(1, FlagEnd, 0, largest) {
						t.Fatalf("blocked: head %d (was %d), tail %d", p.out.head, before, p.out.tail)
					}
					if !p.flush() {
						t.Fatalf("%d flights out of %d", p.out.used, len(p.out.flights))
					}
				}
			}
		})
	})
}

// TestQueueDepths drives the writer as hard as it can against a reader
// that polls as late as it may, and counts what waits at either side.
func TestQueueDepths(t *testing.T) {
	overAnnouncements(t, func(t *testing.T, inMemory bool) {
		for _, ring := range []int{MinRingBytes, 16 << 10, DefaultRingBytes} {
			a := newPair(ring, inMemory)
			returns, most := 0, 0
			for lap := 0; lap < 5; lap++ {
				for a.out.append(1, FlagEnd, 0, nil) && a.flush() {
				}
				if !inMemory && len(a.announced) > flightsOf(ring) {
					t.Fatalf("ring %d: %d events, flights are %d", ring, len(a.announced), flightsOf(ring))
				}
				// The reader returns whenever it may, its peer polls none
				// of the returns: how many can pile up?
				returns = 0
				var imms []uint32
				for len(a.announced) > 0 {
					a.arrive(t)
					for ok := true; ok; {
						_, ok = a.read(t)
					}
					if imm := a.in.due(); imm != 0 {
						a.in.gaveBack(imm)
						imms = append(imms, imm&^returnBit)
						returns++
					}
				}
				most = max(most, returns)
				for _, imm := range imms {
					if err := a.out.returned(imm); err != nil {
						t.Fatal(err)
					}
				}
			}
			if most > maxReturns {
				t.Fatalf("ring %d: %d returns outstanding, limit %d", ring, most, maxReturns)
			}
			want := most
			if !inMemory {
				want += flightsOf(ring)
			}
			if got := recvDepth(ring, inMemory); got < want {
				t.Fatalf("ring %d: receive depth %d, need %d", ring, got, want)
			}
		}
		if callerDepth(true) > 4096 || recvDepth(MaxRingBytes, inMemory) > 4096 {
			t.Fatalf("depths %d, %d exceed what every card grants",
				callerDepth(true), recvDepth(MaxRingBytes, inMemory))
		}
	})
}

func TestAbortedPostIsSentAgain(t *testing.T) {
	overAnnouncements(t, func(t *testing.T, inMemory bool) {
		p := newPair(MinRingBytes, inMemory)
		p.out.append(1, FlagEnd, 1, []byte("one"))
		requests := 1
		if inMemory {
			requests = 2
		}
		for taken := range requests {
			if n := p.refuse(taken); n != requests {
				t.Fatalf("%d requests to post, want %d", n, requests)
			}
		}
		p.out.append(1, FlagEnd, 2, []byte("two"))
		if !p.flush() || len(p.announced) != 1 || p.wrs[requests-1].Unsignaled {
			t.Fatalf("announced %v, unsignaled %v; want one, signaled", p.announced, p.wrs[requests-1].Unsignaled)
		}
		p.arrive(t)
		for want := uint64(1); want <= 2; want++ {
			if m, ok := p.read(t); !ok || m.ID != want {
				t.Fatalf("got %+v, %v; want message %d", m, ok, want)
			}
		}
		if p.out.used != 2-requests || p.out.word.posted != uint64(requests-1) {
			t.Fatalf("%d flights and %d words are posted, want one announcement", p.out.used, p.out.word.posted)
		}
	})
}

// TestAbortedLapIsWrittenOnce: the rest of a lap that Post took, without
// the announcement after it, is not copied again with each try.
func TestAbortedLapIsWrittenOnce(t *testing.T) {
	overAnnouncements(t, func(t *testing.T, inMemory bool) {
		p := newPair(MinRingBytes, inMemory)
		payload := make([]byte, MinRingBytes/4-headerBytes)
		sent := uint64(0)
		send := func(n int) {
			for range n {
				if sent++; !p.out.append(1, FlagEnd, sent, payload) {
					t.Fatal("no room")
				}
			}
		}
		got := uint64(0)
		receive := func(n int) {
			p.flush()
			for range n {
				p.arrive(t)
				if m, ok := p.read(t); !ok || m.ID != got+1 {
					t.Fatalf("got %+v, %v; want message %d", m, ok, got+1)
				}
				got++
				p.giveBack(t)
			}
		}
		send(3)
		receive(3)
		for range 3 { // laps
			send(3) // one before the ring's end, two after it
			for try, want := range []int{2, 1, 1} {
				if inMemory {
					want++ // the tail word
				}
				if n := p.refuse(1); n != want {
					t.Fatalf("try %d: %d requests, want %d", try, n, want)
				}
			}
			receive(3)
			send(1)
			receive(1)
		}
	})
}

// TestSomeRequestsAreSignaled: a card frees unsignaled requests only
// with a later signaled one.
func TestSomeRequestsAreSignaled(t *testing.T) {
	overAnnouncements(t, func(t *testing.T, inMemory bool) {
		p := newPair(MinRingBytes, inMemory)
		for run, i := 0, 0; i < 1000; i++ {
			p.out.append(1, FlagEnd, 0, nil)
			n := p.out.prepare(&p.wrs)
			for _, wr := range p.wrs[:n] {
				if run++; !wr.Unsignaled {
					run = 0
				}
			}
			if run > signalEvery+maxWRs {
				t.Fatalf("%d requests in a row are unsignaled", run)
			}
			if err := p.out.returned(uint32(p.out.posted-p.out.head) / unitBytes); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// announced announces units to an empty ring.
func announced(r *recvRing, units uint32) error {
	if r.inMemory() {
		return r.announceTail(units)
	}
	return r.announce(units)
}

func TestMalformedMessages(t *testing.T) { overAnnouncements(t, testMalformedMessages) }

func testMalformedMessages(t *testing.T, inMemory bool) {
	ok := header{size: 24, kind: 1, flags: FlagEnd}
	for name, tc := range map[string]struct {
		h         header
		announced uint32
	}{
		"size 0":          {header{size: 0, kind: 1, flags: FlagEnd}, 8},
		"size below head": {header{size: 8, kind: 1, flags: FlagEnd}, 8},
		"unaligned":       {header{size: 25, kind: 1, flags: FlagEnd}, 8},
		"not announced":   {ok, 2},
		"huge":            {header{size: 0xfffffff8, kind: 1, flags: FlagEnd}, 8},
		"over limit":      {header{size: MinRingBytes/4 + 8, kind: 1, flags: FlagEnd}, 500},
		"no flag":         {header{size: 24, kind: 1}, 8},
		"both flags":      {header{size: 24, kind: 1, flags: 3}, 8},
		"unknown flag":    {header{size: 24, kind: 1, flags: 4}, 8},
		"fill 8":          {header{size: 24, kind: 1, flags: FlagEnd, fill: 8}, 8},
		"fill > payload":  {header{size: 16, kind: 1, flags: FlagEnd, fill: 1}, 8},
		"reserved":        {header{size: 24, kind: 1, flags: FlagEnd, rsvd: 1}, 8},
		"pad inside":      {header{size: 64}, 8},
		"pad size 0":      {header{size: 0}, 8},
		"pad with flags":  {header{size: MinRingBytes, flags: 1}, MinRingBytes / 8},
	} {
		r := newRecvRing(make([]byte, MinRingBytes), inMemory)
		binary.LittleEndian.PutUint64(r.buf, tc.h.word())
		if err := announced(&r, tc.announced); err != nil {
			t.Fatal(err)
		}
		if m, _, got, err := r.next(); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: got %+v, %v, %v", name, m, got, err)
		}
	}
	r := newRecvRing(make([]byte, MinRingBytes), inMemory)
	for _, units := range []uint32{0, MinRingBytes/8 + 1, 1<<31 - 1, 1<<32 - 1} {
		if err := announced(&r, units); !errors.Is(err, ErrProtocol) {
			t.Errorf("announce %d: %v", units, err)
		}
	}
	p := newPair(MinRingBytes, inMemory)
	for _, units := range []uint32{0, 1, 1<<31 - 1} {
		if err := p.out.returned(units); !errors.Is(err, ErrProtocol) {
			t.Errorf("return %d: %v", units, err)
		}
	}
}

// FuzzRecvRing feeds any ring content and any events or tails to the reader: it
// may end with ErrProtocol, and must neither panic nor read beyond what
// was announced, nor run forever.
func FuzzRecvRing(f *testing.F) {
	for _, inMemory := range []bool{false, true} {
		good := newPair(MinRingBytes, inMemory)
		good.out.append(3, FlagEnd, 5, []byte("payload"))
		good.flush()
		f.Add(good.mem, []byte{3, 0, 0, 0}, inMemory)
		f.Add([]byte{0xff, 0xff}, []byte{0, 0, 0, 0x80, 1, 2, 3, 4}, inMemory)
	}
	f.Fuzz(func(t *testing.T, content, events []byte, inMemory bool) {
		mem := make([]byte, MinRingBytes)
		copy(mem, content)
		r := newRecvRing(mem, inMemory)
		for ; len(events) >= 4; events = events[4:] {
			imm := binary.LittleEndian.Uint32(events)
			announce := r.announceTail
			if !inMemory {
				imm &^= returnBit
				announce = r.announce
			}
			if err := announce(imm); err != nil {
				if !errors.Is(err, ErrProtocol) {
					t.Fatal(err)
				}
				return
			}
			for {
				before := r.unread()
				m, size, ok, err := r.next()
				if err != nil {
					if !errors.Is(err, ErrProtocol) {
						t.Fatal(err)
					}
					return
				}
				if !ok {
					break
				}
				if size == 0 || size > before || len(m.Payload) > int(size)-headerBytes {
					t.Fatalf("message of %d bytes, payload %d, unread %d", size, len(m.Payload), before)
				}
				r.consume(size)
			}
			if imm := r.due(); imm != 0 {
				r.gaveBack(imm)
			}
		}
	})
}

// FuzzHandshake: any private data is decoded or refused.
func FuzzHandshake(f *testing.F) {
	good, err := handshake{DefaultRingBytes, rdma.Remote{Key: 99, Addr: 7}, []byte("hello"), true, true, false}.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHandshake(b, "client", "server")
		if err != nil {
			return
		}
		again, err := h.encode()
		if err != nil {
			t.Fatal(err)
		}
		h2, err := decodeHandshake(again, "client", "server")
		if err != nil || h2.region != h.region || h2.ringBytes != h.ringBytes ||
			!bytes.Equal(h2.hello, h.hello) || h2.inMemory != h.inMemory || h2.placed != h.placed {
			t.Fatalf("%+v became %+v, %v", h, h2, err)
		}
	})
}

// A client with one call in flight keeps to the front of both rings.
func TestLoneCallsStayAtRingFront(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		conns := make(chan *Conn, 1)
		s := serve(t, p, handlerFuncs{opened: func(c *Conn) { conns <- c }, serve: echo}, WorkerConfig{})
		c := s.dial(t, CallerConfig{})
		payload := make([]byte, 40)
		for range 2 * DefaultRingBytes / (headerBytes + len(payload)) {
			for i := range payload {
				payload[i]++
			}
			got, _, err := c.Call(within(t), 1, payload, nil)
			if err != nil || !bytes.Equal(got, payload) {
				t.Fatalf("%v, %v; want %v", got, err, payload)
			}
		}
		s.Pause()
		defer s.Resume()
		for name, ring := range map[string][]byte{
			"request": (<-conns).in.buf, "response": c.in.buf,
		} {
			from := DefaultRingBytes / 8
			if p.inMemory && name == "request" {
				from = DefaultRingBytes / 2 // its head returns by the quarter
			}
			for at := from; at < DefaultRingBytes; at++ {
				if ring[at] != 0 {
					t.Fatalf("byte %d of the %s ring was used", at, name)
				}
			}
		}
	})
}
