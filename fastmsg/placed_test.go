package fastmsg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
)

// newPlacedPair is a pair whose messages announce themselves.
func newPlacedPair(ringBytes int) *pair {
	p := newPair(ringBytes, false)
	p.in.becomePlaced()
	p.out.becomePlaced()
	return p
}

// TestPlacedMessages: messages of all sizes arrive as they were sent, over many laps,
// also when Post refuses requests; each is one Write; and what is not sent
// yet is 0 in the reader's memory.
func TestPlacedMessages(t *testing.T) {
	rng := newRand(11)
	p := newPlacedPair(MinRingBytes)
	var sent []Message
	payload := make([]byte, MinRingBytes/4-headerBytes-unitBytes)
	laps, pads, refused := 0, 0, 0
	for id := uint64(0); laps < 200; {
		m := Message{Kind: Kind(1 + rng.IntN(255)), Flags: FlagEnd, ID: id, Payload: payload[:rng.IntN(len(payload)+1)]}
		if rng.IntN(2) == 0 {
			m.Payload = m.Payload[:min(len(m.Payload), rng.IntN(40))]
		}
		for i := range m.Payload {
			m.Payload[i] = byte(rng.Uint32())
		}
		appended := p.out.append(m.Kind, m.Flags, m.ID, m.Payload)
		if appended {
			m.Payload = bytes.Clone(m.Payload)
			sent = append(sent, m)
			id++
		}
		for appended && p.out.unposted() > 0 {
			if rng.IntN(3) == 0 && p.refuse(rng.IntN(3)) > 0 {
				refused++
			}
			n := p.out.prepare(&p.wrs)
			for i, wr := range p.wrs[:n] {
				if wr.Op != rdma.OpWrite || n > 2 || n == 2 && (i == 0) != (wr.Local.Len == unitBytes) {
					t.Fatalf("request %d of %d is %v of %d bytes", i, n, wr.Op, wr.Local.Len)
				}
				carryOut(p.mem, wr)
			}
			pads += n - 1
		}
		if appended && rng.IntN(3) > 0 {
			continue
		}
		laps = int(p.in.tail / p.in.size)
		if _, err := p.in.arrived(); err != nil {
			t.Fatal(err)
		}
		for {
			got, ok := p.read(t)
			if !ok {
				break
			}
			want := sent[0]
			if got.Kind != want.Kind || got.ID != want.ID || !bytes.Equal(got.Payload, want.Payload) {
				t.Fatalf("got %d of kind %d with %d bytes, sent %d, %d, %d", got.ID, got.Kind, len(got.Payload), want.ID, want.Kind, len(want.Payload))
			}
			sent = sent[1:]
		}
		if i := slices.IndexFunc(p.mem[:MinRingBytes], notZero); len(sent) == 0 && i >= 0 {
			t.Fatalf("all is read, and byte %d is %d", i, p.mem[i])
		}
		p.giveBack(t)
	}
	if pads == 0 || refused == 0 {
		t.Errorf("%d paddings, %d refused", pads, refused)
	}
}

func notZero(b byte) bool { return b != 0 }

// TestPlacedSlowWriter: a message is not there before its last byte is, whatever has
// appeared of it.
func TestPlacedSlowWriter(t *testing.T) {
	p := newPlacedPair(MinRingBytes)
	for _, n := range []int{0, 1, 7, 8, 9, 100, MinRingBytes/4 - headerBytes - unitBytes} {
		at := p.in.tail % p.in.size
		if !p.out.append(3, FlagEnd, 5, bytes.Repeat([]byte{0xff}, n)) {
			t.Fatal("no room")
		}
		if got := p.out.prepare(&p.wrs); got != 1 {
			t.Fatalf("%d requests", got)
		}
		b := p.wrs[0].Local.Region.Bytes()[p.wrs[0].Local.Offset:][:p.wrs[0].Local.Len]
		for done := range len(b) {
			if found, err := p.in.arrived(); found || err != nil {
				t.Fatalf("payload of %d: %v, %v after %d of %d bytes", n, found, err, done, len(b))
			}
			if done > unitBytes && !p.in.begun() {
				t.Fatalf("the size is not seen after %d bytes", done)
			}
			if done < unitBytes { // A word is seen whole.
				continue
			}
			copy(p.mem[at:], b[:done+1])
		}
		if found, err := p.in.arrived(); !found || err != nil {
			t.Fatalf("payload of %d: %v, %v", n, found, err)
		}
		if m, ok := p.read(t); !ok || len(m.Payload) != n {
			t.Fatalf("payload of %d, sent %d", len(m.Payload), n)
		}
		p.in.returned = p.in.head
		p.out.head = p.out.posted
	}
}

// badPlaced are first words of messages that no writer may write.
var badPlaced = map[string][]byte{
	"unaligned":          word(header{size: 25, kind: 1, flags: FlagEnd}),
	"header alone":       word(header{size: headerBytes, kind: 1, flags: FlagEnd}),
	"over the limit":     word(header{size: DefaultRingBytes/4 + 8, kind: 1, flags: FlagEnd}),
	"beyond the ring":    word(header{size: DefaultRingBytes + 8, kind: 1, flags: FlagEnd}),
	"huge":               word(header{size: 1<<32 - 8, kind: 1, flags: FlagEnd}),
	"padding inside":     word(header{size: 64}),
	"padding beyond":     word(header{size: DefaultRingBytes + 8}),
	"no flag":            ended(header{size: 32, kind: 1}),
	"ends with 2":        append(ended(header{size: 32, kind: 1, flags: FlagEnd})[:31], 2),
	"fill of 9":          ended(header{size: 32, kind: 1, flags: FlagEnd, fill: 9}),
	"kind of a reserved": ended(header{size: 32, kind: 1, flags: FlagEnd, rsvd: 1}),
}

func word(h header) []byte { return binary.LittleEndian.AppendUint64(nil, h.word()) }

func ended(h header) []byte {
	b := message(h)
	b[len(b)-1] = placedEnd
	return b
}

// overPlaced runs a test where messages may announce themselves.
func overPlaced(t *testing.T, run func(t *testing.T, p provider)) {
	ran := false
	overProviders(t, func(t *testing.T, p provider) {
		if p.placed {
			ran = true
			run(t, p)
		}
	})
	if !ran && runsPlaced {
		t.Error("no provider has the order for it")
	}
}

// TestPlacedHostile: a bad first word closes its connection and no other; one of
// a message that never ends closes none, and is looked at again.
func TestPlacedHostile(t *testing.T) {
	overPlaced(t, func(t *testing.T, p provider) {
		s, opened, closed, friendAsks := besideFriend(t, p)
		for name, b := range badPlaced {
			x := newStranger(t, p)
			x.placed = true
			x.dial(t, s)
			<-opened
			if err := x.write(0, b); err != nil {
				t.Fatal(err)
			}
			if err := <-closed; !errors.Is(err, ErrProtocol) {
				t.Errorf("%s: connection ends with %v", name, err)
			}
			friendAsks()
		}
		slow := newStranger(t, p)
		slow.placed = true
		slow.dial(t, s)
		c := <-opened
		whole := ended(header{size: 1024, kind: 1, flags: FlagEnd, fill: 1})
		if err := slow.write(0, whole[:1000]); err != nil {
			t.Fatal(err)
		}
		until(t, "its beginning is there", func() bool {
			s.Pause()
			defer s.Resume()
			return c.in.begun()
		})
		friendAsks()
		if s.Pause(); c.in.tail != 0 {
			t.Errorf("tail at %d of a message without its end", c.in.tail)
		}
		s.Resume()
		if err := slow.write(1000, whole[1000:]); err != nil {
			t.Fatal(err)
		}
		until(t, "the whole message is served", func() bool {
			s.Pause()
			defer s.Resume()
			return c.in.head == 1024
		})
		slow.qp.Close()
		<-closed
	})
}

// write writes bytes at an offset of the ring, and nothing else.
func (x *stranger) write(offset uint64, b []byte) error {
	copy(x.source.Bytes()[offset:], b)
	_, err := x.qp.Post([]rdma.WorkRequest{{
		Op: rdma.OpWrite, Local: rdma.Buffer{Region: x.source, Offset: int(offset), Len: len(b)}, Remote: x.ring.At(offset),
	}})
	return err
}

// TestPlacedRestart: after the end of a server, calls fail, and a new server serves
// at once, in rings that are empty.
func TestPlacedRestart(t *testing.T) {
	overPlaced(t, func(t *testing.T, p provider) {
		for range 3 {
			s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{RingBytes: MinRingBytes})
			c := s.dial(t, CallerConfig{RingBytes: MinRingBytes})
			for i := range 500 { // several laps
				b := bytes.Repeat([]byte{byte(i)}, i%900)
				if got, _, err := c.Call(within(t), 1, b, nil); err != nil || !bytes.Equal(got, b) {
					t.Fatalf("call %d: %d bytes, %v", i, len(got), err)
				}
			}
			s.stop()
			if _, _, err := c.Call(within(t), 1, []byte("x"), nil); err == nil {
				t.Fatal("a call to a server that has ended is answered")
			}
		}
	})
}

// TestPlacedNeedsOrder: both sides refuse a device that does not declare the order, and
// a combination with other announcements.
func TestPlacedNeedsOrder(t *testing.T) {
	p := providers[0] // soft
	s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{})
	if _, err := Dial(within(t), p.open(t), s.addr, CallerConfig{Placed: true}); !errors.Is(err, ErrConfig) {
		t.Errorf("dialed: %v", err)
	}
	x := newStranger(t, p)
	private, err := handshake{MinRingBytes, x.region.Remote(), nil, false, false, true}.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.dev.Dial(within(t), s.addr, x.config(), private); !errors.Is(err, rdma.ErrRejected) {
		t.Errorf("accepted: %v", err)
	}
	for _, cfg := range []CallerConfig{{Placed: true, InMemory: true}, {Placed: true, Fetch: true}} {
		if _, err := Dial(within(t), p.open(t), s.addr, cfg); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	both, err := handshake{MinRingBytes, rdma.Remote{}, nil, true, false, true}.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeHandshake(both, "client", "server"); !errors.Is(err, ErrProtocol) {
		t.Errorf("flags of two announcements: %v", err)
	}
}
