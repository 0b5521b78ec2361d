package fastmsg

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/tailword"
)

// stranger is a peer that does the handshake, and then what the test makes
// it do.
type stranger struct {
	dev    rdma.Device
	cq     rdma.CompletionQueue
	qp     rdma.QueuePair
	region rdma.Region // which the other side writes
	source rdma.Region // from which the stranger writes
	ring   rdma.Remote // the other side's ring

	ringBytes uint64
	inMemory  bool   // announces in memory
	fetch     bool   // may fetch its answers
	placed    bool   // its messages announce themselves
	left      left   // the answers that it may fetch
	tail      uint64 // end of the bytes sent
	words     int    // tail words written
}

func newStranger(t testing.TB, p provider) *stranger {
	t.Helper()
	x := &stranger{dev: p.open(t), inMemory: p.inMemory, fetch: p.fetch}
	var err error
	if x.cq, err = x.dev.CreateCQ(2048); err != nil {
		t.Fatal(err)
	}
	if x.region, err = x.dev.Register(MailboxBytes+MinRingBytes+tailBytes, rdma.RemoteWrite); err != nil {
		t.Fatal(err)
	}
	if x.source, err = x.dev.Register(DefaultRingBytes, 0); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *stranger) config() rdma.QPConfig {
	return rdma.QPConfig{SendCQ: x.cq, RecvCQ: x.cq, SendDepth: 2048, RecvDepth: 2048}
}

func (x *stranger) dial(t testing.TB, s *server) {
	t.Helper()
	private, err := handshake{MinRingBytes, x.region.Remote(), nil, x.inMemory, x.fetch, x.placed}.encode()
	if err != nil {
		t.Fatal(err)
	}
	if x.qp, err = x.dev.Dial(within(t), s.addr, x.config(), private); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.qp.Close() })
	h, err := decodeHandshake(x.qp.PrivateData(), "server", "client")
	if err != nil {
		t.Fatal(err)
	}
	x.ring, x.ringBytes = h.region, uint64(h.ringBytes)
}

// send writes bytes at an offset of the ring, and raises an event, or announces
// the same number of units in memory.
func (x *stranger) send(t testing.TB, offset uint64, bytes []byte, imm uint32) {
	t.Helper()
	if err := x.post(offset, bytes, imm); err != nil {
		t.Fatal(err)
	}
}

func (x *stranger) post(offset uint64, bytes []byte, imm uint32) error {
	copy(x.source.Bytes(), bytes)
	wr := rdma.WorkRequest{
		Op: rdma.OpWriteImm, Imm: imm,
		Local:  rdma.Buffer{Region: x.source, Len: len(bytes)},
		Remote: x.ring.At(offset),
	}
	if !x.inMemory || imm&returnBit != 0 {
		_, err := x.qp.Post([]rdma.WorkRequest{wr})
		return err
	}
	wr.Op = rdma.OpWrite
	if _, err := x.qp.Post([]rdma.WorkRequest{wr}); err != nil {
		return err
	}
	x.tail += uint64(imm) * unitBytes
	return x.writeWord(tailword.Of(x.tail))
}

// writeWord writes a tail word into the default ring's line. Each has a source
// of its own, since the Write may be executed later.
func (x *stranger) writeWord(word uint64) error {
	at := DefaultRingBytes/2 + x.words*wordBytes // after all messages
	x.words++
	binary.LittleEndian.PutUint64(x.source.Bytes()[at:], word)
	_, err := x.qp.Post([]rdma.WorkRequest{{
		Op: rdma.OpWrite, Local: rdma.Buffer{Region: x.source, Offset: at, Len: wordBytes},
		Remote: x.ring.At(x.ringBytes),
	}})
	return err
}

func message(h header) []byte {
	b := make([]byte, max(h.size, headerBytes)&0xffff)
	binary.LittleEndian.PutUint64(b, h.word())
	return b
}

// TestHostileClients: each violates one rule and loses its connection; another
// client of the same worker is not affected.
func TestHostileClients(t *testing.T) {
	good := header{size: 32, kind: 1, flags: FlagEnd}
	attacks := map[string]func(t *testing.T, x *stranger){
		"announces nothing":       func(t *testing.T, x *stranger) { x.send(t, 0, nil, 0) },
		"announces without bytes": func(t *testing.T, x *stranger) { x.send(t, 0, nil, 4) },
		"announces over the ring": func(t *testing.T, x *stranger) { x.send(t, 0, nil, DefaultRingBytes/8+1) },
		"announces 16 GiB":        func(t *testing.T, x *stranger) { x.send(t, 0, nil, 1<<31-1) },
		"returns nothing":         func(t *testing.T, x *stranger) { x.send(t, 0, nil, returnBit) },
		"returns what it got not": func(t *testing.T, x *stranger) { x.send(t, 0, nil, returnBit|100) },
		"returns everything":      func(t *testing.T, x *stranger) { x.send(t, 0, nil, 1<<32-1) },
		"size 0":                  func(t *testing.T, x *stranger) { x.send(t, 0, message(header{kind: 1, flags: FlagEnd}), 4) },
		"huge size": func(t *testing.T, x *stranger) {
			x.send(t, 0, message(header{size: 1<<32 - 8, kind: 1, flags: FlagEnd}), 4)
		},
		"unaligned size": func(t *testing.T, x *stranger) { x.send(t, 0, message(header{size: 33, kind: 1, flags: FlagEnd}), 8) },
		"unknown flags":  func(t *testing.T, x *stranger) { x.send(t, 0, message(header{size: 32, kind: 1, flags: 0x80}), 4) },
		"request to be continued": func(t *testing.T, x *stranger) {
			x.send(t, 0, message(header{size: 32, kind: 1, flags: FlagContinue}), 4)
		},
		"padding inside the ring":  func(t *testing.T, x *stranger) { x.send(t, 0, message(header{size: 32}), 4) },
		"more flights than depth":  func(t *testing.T, x *stranger) { flood(x) },
		"writes over the ring":     func(t *testing.T, x *stranger) { x.send(t, DefaultRingBytes-8, message(good), 4) },
		"good one, then a bad one": func(t *testing.T, x *stranger) { x.send(t, 0, append(message(good), make([]byte, 8)...), 5) },
		"hangs up":                 func(t *testing.T, x *stranger) { x.qp.Close() },
	}
	notOurs := map[string]bool{"writes over the ring": true, "hangs up": true, "more flights than depth": true}
	overProviders(t, func(t *testing.T, p provider) {
		s, opened, closed, friendAsks := besideFriend(t, p)
		for name, attack := range attacks {
			t.Run(name, func(t *testing.T) {
				x := newStranger(t, p)
				x.dial(t, s)
				<-opened
				attack(t, x)
				if err := <-closed; !notOurs[name] && !errors.Is(err, ErrProtocol) {
					t.Errorf("connection ends with %v", err)
				}
				friendAsks()
			})
		}
		select {
		case err := <-closed:
			t.Errorf("one more connection closed: %v", err)
		default:
		}
	})
}

// flood posts events with one unit each until it is stopped.
func flood(x *stranger) {
	for {
		wr := rdma.WorkRequest{Op: rdma.OpWriteImm, Imm: 1, Unsignaled: true}
		if _, err := x.qp.Post([]rdma.WorkRequest{wr}); err != nil {
			return
		}
	}
}

// TestGarbageFromClients sends random rings and events to a worker.
func TestGarbageFromClients(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{RingBytes: MinRingBytes})
		friend := s.dial(t, CallerConfig{})
		rng := newRand(7)
		for range 30 {
			x := newStranger(t, p)
			x.dial(t, s)
			for range 20 {
				h := header{
					size: uint32(rng.IntN(20)) * 4, kind: Kind(rng.IntN(3)),
					flags: Flags(rng.IntN(4)), fill: uint8(rng.IntN(9)),
				}
				copy(x.source.Bytes(), message(h))
				imm := uint32(rng.IntN(12))
				if rng.IntN(4) == 0 {
					imm |= returnBit
				}
				if x.post(uint64(rng.IntN(500))*8, x.source.Bytes()[:64], imm) != nil {
					break
				}
			}
			if _, _, err := friend.Call(within(t), 1, nil, nil); err != nil {
				t.Fatal(err)
			}
			x.qp.Close()
		}
		until(t, "only the friend is left", func() bool { return s.Stats().Connections == 1 })
	})
}

// TestHostileServer: a Caller survives everything that a server may send.
func TestHostileServer(t *testing.T) {
	// The one open call has id 1<<32 | 0.
	answer := func(h header, id uint64) []byte {
		b := message(h)
		binary.LittleEndian.PutUint64(b[8:], id)
		return b
	}
	end := header{size: 16, kind: 1, flags: FlagEnd}
	attacks := map[string]func(t *testing.T, x *stranger){
		"nobody's slot":    func(t *testing.T, x *stranger) { x.send(t, 0, answer(end, 1<<32|7), 2) },
		"slot far outside": func(t *testing.T, x *stranger) { x.send(t, 0, answer(end, 1<<32|0xffffffff), 2) },
		"old generation":   func(t *testing.T, x *stranger) { x.send(t, 0, answer(end, 0), 2) },
		"no flags":         func(t *testing.T, x *stranger) { x.send(t, 0, answer(header{size: 16, kind: 1}, 1<<32), 2) },
		"over the ring":    func(t *testing.T, x *stranger) { x.send(t, 0, nil, 1<<31-1) },
		"returns too much": func(t *testing.T, x *stranger) { x.send(t, 0, nil, returnBit|9) },
		"hangs up":         func(t *testing.T, x *stranger) { x.qp.Close() },
	}
	overProviders(t, func(t *testing.T, p provider) {
		for name, attack := range attacks {
			t.Run(name, func(t *testing.T) {
				x := newStranger(t, p)
				lis, err := x.dev.Listen(p.addr(t))
				if err != nil {
					t.Fatal(err)
				}
				defer lis.Close()
				accepted := make(chan error, 1)
				go func() { accepted <- x.accept(t, lis) }()
				c, err := Dial(within(t), p.open(t), lis.Addr(), CallerConfig{MaxInFlight: 8, InMemory: p.inMemory})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if err := <-accepted; err != nil {
					t.Fatal(err)
				}
				defer x.qp.Close()
				result := make(chan error, 1)
				go func() {
					_, _, err := c.Call(within(t), 1, nil, nil)
					result <- err
				}()
				until(t, "request is sent", func() bool { return sent(c) == headerBytes })
				attack(t, x)
				if err := <-result; !errors.Is(err, ErrUnknownOutcome) ||
					name != "hangs up" && !errors.Is(err, ErrProtocol) {
					t.Errorf("call ends with %v", err)
				}
			})
		}
	})
}

// TestAnswerBeforeRequest: a request that waits for room was not sent, so
// an answer to it is a violation. If it were accepted, Call would return
// while the queue still refers to its payload.
func TestAnswerBeforeRequest(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{RingBytes: MinRingBytes})
		c := s.dial(t, CallerConfig{})
		s.Pause()
		payload := make([]byte, c.MaxPayload())
		ctx, cancel := context.WithCancel(context.Background())
		const calls = 8
		results := make(chan error, calls)
		for range calls {
			go func() {
				_, _, err := c.Call(ctx, 1, payload, nil)
				results <- err
			}()
		}
		queued := func() []uint32 {
			c.mu.Lock()
			defer c.mu.Unlock()
			return append([]uint32(nil), c.queue...)
		}
		until(t, "calls wait for room", func() bool { return len(queued()) == calls-4 })
		for _, i := range queued() {
			if _, err := c.deliver(Message{Kind: 1, Flags: FlagEnd, ID: 1<<32 | uint64(i)}); !errors.Is(err, ErrProtocol) {
				t.Errorf("answer to the waiting call %d: %v", i, err)
			}
		}
		cancel()
		for range calls {
			if err := <-results; err == nil {
				t.Error("a call succeeds that nobody served")
			}
		}
		s.Resume()
		for range 2 * calls {
			if got, _, err := c.Call(within(t), 1, []byte("x"), nil); err != nil || string(got) != "x" {
				t.Fatalf("after resume: %q, %v", got, err)
			}
		}
	})
}

// TestDiscardTakesToken: the next call in a slot does not get the answer to
// the call before.
func TestDiscardTakesToken(t *testing.T) {
	c := &Caller{slots: make([]slot, 1), free: newFreeSlots(0), maxAnswer: 100}
	s := &c.slots[0]
	s.wake = make(chan struct{}, 1)
	s.gen, s.state = 1, slotOpen
	if _, err := c.deliver(Message{Kind: 1, Flags: FlagEnd, ID: 1 << 32}); err != nil {
		t.Fatal(err)
	}
	c.discard(0)
	if len(s.wake) != 0 || c.free.available() != 1 || s.state != slotFree {
		t.Errorf("%d tokens, %d free, state %d", len(s.wake), c.free.available(), s.state)
	}
}

// TestAnswersWithConnectionEndAreDelivered: an answer that arrives in one batch
// with the end of the connection is an answer.
func TestAnswersWithConnectionEndAreDelivered(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{})
		c, err := dial(within(t), p.open(t), s.addr, CallerConfig{InMemory: p.inMemory}) // without its poller
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		defer close(c.stopped)
		result := make(chan error, 1)
		go func() {
			_, _, err := c.Call(within(t), 1, []byte("x"), nil)
			result <- err
		}()
		n := 0
		until(t, "the answer arrives", func() bool {
			n = c.cq.Poll(c.comps)
			return n > 0 && c.comps[n-1].Op == rdma.OpRecv && c.comps[n-1].Imm&returnBit == 0
		})
		batch := append(c.comps[:n:n], rdma.Completion{
			Op: rdma.OpRecv, Status: rdma.StatusPeerLost, QP: c.qp,
		})
		if err := c.turn(batch); err == nil {
			t.Fatal("the end of the connection is not noticed")
		} else {
			c.fail(err)
		}
		if err := <-result; err != nil {
			t.Errorf("the answered call: %v", err)
		}
	})
}

func (x *stranger) accept(t testing.TB, lis rdma.Listener) error {
	req, err := lis.Accept(within(t))
	if err != nil {
		return err
	}
	h, err := decodeHandshake(req.PrivateData(), "client", "server")
	if err != nil {
		return err
	}
	x.ring, x.inMemory = h.region.At(MailboxBytes), false // answers raise events
	private, err := handshake{MinRingBytes, x.region.Remote(), nil, h.inMemory, h.fetch, h.placed}.encode()
	if err != nil {
		return err
	}
	x.qp, err = req.Accept(x.config(), private)
	return err
}

// request sends one request without a payload.
func (x *stranger) request(t testing.TB, kind Kind) {
	t.Helper()
	b := make([]byte, headerBytes)
	putMessage(b, kind, FlagEnd, 1, nil)
	x.send(t, 0, b, headerBytes/unitBytes)
}

// takeAll waits for at least one announcement of answers, returns their
// room to the server, and returns their number of bytes, padding included.
func (x *stranger) takeAll(t testing.TB) (n int) {
	t.Helper()
	if x.fetch {
		return x.takeLeft(t)
	}
	var comps [16]rdma.Completion
	for n == 0 {
		if err := x.cq.Wait(within(t), -1); err != nil {
			t.Fatal(err)
		}
		for _, c := range comps[:x.cq.Poll(comps[:])] {
			if c.Op == rdma.OpRecv && c.Imm&returnBit == 0 {
				n += int(c.Imm) * unitBytes
			}
		}
	}
	wr := rdma.WorkRequest{Op: rdma.OpWriteImm, Imm: returnBit | uint32(n/unitBytes)}
	if _, err := x.qp.Post([]rdma.WorkRequest{wr}); err != nil {
		t.Fatal(err)
	}
	return n
}
