package fastmsg

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/catfish-index/catfish/rdma"
)

// stranger is a peer that speaks verbs and the handshake, and then does
// as it likes.
type stranger struct {
	dev    rdma.Device
	cq     rdma.CompletionQueue
	qp     rdma.QueuePair
	region rdma.Region // what the other side writes
	source rdma.Region // what the stranger writes from
	ring   rdma.Remote // the other side's ring
}

func newStranger(t testing.TB, p provider) *stranger {
	t.Helper()
	x := &stranger{dev: p.open(t)}
	var err error
	if x.cq, err = x.dev.CreateCQ(2048); err != nil {
		t.Fatal(err)
	}
	if x.region, err = x.dev.Register(MailboxBytes+MinRingBytes, rdma.RemoteWrite); err != nil {
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
	private, err := handshake{MinRingBytes, x.region.Key(), nil}.encode()
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
	x.ring.Key = h.key
}

// send writes bytes at an offset of the ring and raises an event.
func (x *stranger) send(t testing.TB, offset uint64, bytes []byte, imm uint32) {
	t.Helper()
	copy(x.source.Bytes(), bytes)
	wr := rdma.WorkRequest{
		Op: rdma.OpWriteImm, Imm: imm,
		Local:  rdma.Buffer{Region: x.source, Len: len(bytes)},
		Remote: rdma.Remote{Key: x.ring.Key, Offset: x.ring.Offset + offset},
	}
	if _, err := x.qp.Post([]rdma.WorkRequest{wr}); err != nil {
		t.Fatal(err)
	}
}

func message(h header) []byte {
	b := make([]byte, max(h.size, headerBytes)&0xffff)
	binary.LittleEndian.PutUint64(b, h.word())
	return b
}

// TestHostileClients: each breaks one rule and loses its connection;
// another client of the same worker notices nothing.
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
		opened := make(chan *Conn, 1)
		closed := make(chan error, 1)
		s := serve(t, p, handlerFuncs{
			serve:  echo,
			opened: func(c *Conn) { opened <- c },
			closed: func(c *Conn, err error) { closed <- err },
		}, WorkerConfig{})
		friend := s.dial(t, CallerConfig{})
		<-opened
		for name, attack := range attacks {
			t.Run(name, func(t *testing.T) {
				x := newStranger(t, p)
				x.dial(t, s)
				<-opened
				attack(t, x)
				if err := <-closed; !notOurs[name] && !errors.Is(err, ErrProtocol) {
					t.Errorf("connection ends with %v", err)
				}
				if got, _, err := friend.Call(within(t), 1, []byte("hi"), nil); err != nil || string(got) != "hi" {
					t.Errorf("friend: %q, %v", got, err)
				}
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

// TestGarbageFromClients throws random rings and events at a worker.
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
				wr := rdma.WorkRequest{
					Op: rdma.OpWriteImm, Imm: uint32(rng.IntN(12)),
					Local:  rdma.Buffer{Region: x.source, Len: 64},
					Remote: rdma.Remote{Key: x.ring.Key, Offset: uint64(rng.IntN(500)) * 8},
				}
				if rng.IntN(4) == 0 {
					wr.Imm |= returnBit
				}
				if _, err := x.qp.Post([]rdma.WorkRequest{wr}); err != nil {
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

// TestHostileServer: a Caller survives what a server may send.
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
				c, err := Dial(within(t), p.open(t), lis.Addr(), CallerConfig{MaxInFlight: 8})
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

func (x *stranger) accept(t testing.TB, lis rdma.Listener) error {
	req, err := lis.Accept(within(t))
	if err != nil {
		return err
	}
	h, err := decodeHandshake(req.PrivateData(), "client", "server")
	if err != nil {
		return err
	}
	x.ring = rdma.Remote{Key: h.key, Offset: MailboxBytes}
	private, err := handshake{MinRingBytes, x.region.Key(), nil}.encode()
	if err != nil {
		return err
	}
	x.qp, err = req.Accept(x.config(), private)
	return err
}
