package fastmsg

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/catfish-index/catfish/internal/fetch"
	"github.com/catfish-index/catfish/internal/rdma"
)

// TestHostileFetchers: each client violates one rule of answers that are
// fetched, and loses its connection.
func TestHostileFetchers(t *testing.T) {
	attacks := map[string]func(t *testing.T, x *stranger){
		"has what was never left":    func(t *testing.T, x *stranger) { x.sayLeft(t, sayTook, 1) },
		"has lines before the first": func(t *testing.T, x *stranger) { x.sayLeft(t, sayTook, 1<<64-1) },
		"wants them left twice":      func(t *testing.T, x *stranger) { x.sayLeft(t, sayLeave, 0) },
		"wants them written twice": func(t *testing.T, x *stranger) {
			x.sayLeft(t, sayWrite, 0)
			x.sayLeft(t, sayWrite, 0)
		},
		"has half of an answer": func(t *testing.T, x *stranger) {
			x.send(t, 0, append(message(header{size: 216, kind: 1, flags: FlagEnd}), make([]byte, 0)...), 27)
			for from := x.left.next; x.left.next == from; {
				x.look(t)
			}
			x.sayLeft(t, sayTook, x.left.next-1)
		},
	}
	overFetch(t, func(t *testing.T, p provider) {
		s, opened, closed, friendAsks := besideFriend(t, p)
		for name, attack := range attacks {
			t.Run(name, func(t *testing.T) {
				x := newStranger(t, p)
				x.dial(t, s)
				<-opened
				x.findLeft(t)
				attack(t, x)
				if err := <-closed; !errors.Is(err, ErrProtocol) {
					t.Errorf("connection ends with %v", err)
				}
				friendAsks()
			})
		}
	})
}

// TestHostileServersOfFetchedAnswers: a server that leaves a malformed answer, or names an
// impossible place for it, loses its client, and the client's calls end.
func TestHostileServersOfFetchedAnswers(t *testing.T) {
	const ring = MinRingBytes
	where := func(x *stranger, lines uint32, start uint64) []byte {
		var b [whereBytes]byte
		at := x.left.landing.Remote()
		binary.LittleEndian.PutUint64(b[:], uint64(at.Key))
		binary.LittleEndian.PutUint64(b[8:], at.Addr)
		binary.LittleEndian.PutUint32(b[16:], lines)
		binary.LittleEndian.PutUint64(b[20:], start)
		m := make([]byte, messageBytes(whereBytes))
		putMessage(m, 1, FlagWhere, 0, b[:])
		return m
	}
	say := func(t *testing.T, x *stranger, m []byte) { x.send(t, 0, m, uint32(len(m)/unitBytes)) }
	leaves := func(h header, id uint64) func(t *testing.T, x *stranger) {
		return func(t *testing.T, x *stranger) {
			line := x.left.landing.Bytes()
			binary.LittleEndian.PutUint64(line[8:], h.word())
			binary.LittleEndian.PutUint64(line[16:], id)
			binary.LittleEndian.PutUint64(line[lineBytes:], 2)
			binary.LittleEndian.PutUint64(line, 1)
			say(t, x, where(x, ring/lineBytes, 0))
		}
	}
	attacks := map[string]func(t *testing.T, x *stranger){
		"too many lines": func(t *testing.T, x *stranger) { say(t, x, where(x, ring/lineBytes+1, 0)) },
		"no lines":       func(t *testing.T, x *stranger) { say(t, x, where(x, 0, 0)) },
		"far ahead":      func(t *testing.T, x *stranger) { say(t, x, where(x, ring/lineBytes, 1<<40)) },
		"twice": func(t *testing.T, x *stranger) {
			m := where(x, ring/lineBytes, 0)
			say(t, x, append(m, m...))
		},
		"short": func(t *testing.T, x *stranger) {
			m := make([]byte, messageBytes(3))
			putMessage(m, 1, FlagWhere, 0, []byte("123"))
			say(t, x, m)
		},
		"no such call":      leaves(header{size: 16, kind: 1, flags: FlagEnd}, 77),
		"size 0":            leaves(header{kind: 1, flags: FlagEnd}, 0),
		"huge":              leaves(header{size: 1 << 30, kind: 1, flags: FlagEnd}, 0),
		"padding":           leaves(header{size: 16, flags: FlagEnd}, 0),
		"fill of 8":         leaves(header{size: 24, kind: 1, flags: FlagEnd, fill: 8}, 0),
		"where, in a line":  leaves(header{size: 16, kind: 1, flags: FlagWhere}, 0),
		"mailbox of 72":     leaves(header{size: 16 + 72, kind: 1, flags: FlagMailbox}, 0),
		"mailbox of a byte": leaves(header{size: 24, kind: 1, flags: FlagMailbox, fill: 7}, 0),
		"reads more than is": func(t *testing.T, x *stranger) {
			line := x.left.landing.Bytes()
			binary.LittleEndian.PutUint64(line[8:], header{size: 16, kind: 1, flags: FlagContinue}.word())
			binary.LittleEndian.PutUint64(line[16:], 1<<32)
			binary.LittleEndian.PutUint64(line, 1|1000<<32)
			say(t, x, where(x, ring/lineBytes, 0))
		},
	}
	overFetch(t, func(t *testing.T, p provider) {
		for name, attack := range attacks {
			t.Run(name, func(t *testing.T) {
				x := newStranger(t, p)
				var err error
				if x.left.landing, err = x.dev.Register(2*ring, rdma.RemoteRead); err != nil {
					t.Fatal(err)
				}
				defer x.left.landing.Close()
				lis, err := x.dev.Listen(p.addr(t))
				if err != nil {
					t.Fatal(err)
				}
				defer lis.Close()
				accepted := make(chan error, 1)
				go func() { accepted <- x.accept(t, lis) }()
				c, err := Dial(within(t), p.open(t), lis.Addr(), CallerConfig{Fetch: true, RingBytes: ring})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if err := <-accepted; err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() {
					_, _, err := c.Call(within(t), 1, nil, nil)
					ended <- err
				}()
				until(t, "the call is sent", func() bool { return sent(c) > 0 })
				attack(t, x)
				if err := <-ended; !errors.Is(err, ErrProtocol) {
					t.Errorf("the call ends with %v", err)
				}
				x.qp.Close()
			})
		}
	})
}

// FuzzFetched: whatever lies in a server's memory, the client ends the
// connection with ErrProtocol or takes no more than the message's size.
func FuzzFetched(f *testing.F) {
	line := make([]byte, 2*lineBytes)
	binary.LittleEndian.PutUint64(line, 1)
	binary.LittleEndian.PutUint64(line[8:], header{size: 64, kind: 1, flags: FlagEnd}.word())
	binary.LittleEndian.PutUint64(line[16:], 1<<32)
	binary.LittleEndian.PutUint64(line[lineBytes:], 2)
	f.Add(line, uint8(2))
	f.Add(line[:lineBytes], uint8(1))
	f.Fuzz(func(t *testing.T, mem []byte, reads uint8) {
		c := &Caller{slots: make([]slot, 2), free: newFreeSlots(2), maxAnswer: 1 << 10, in: recvRing{size: MinRingBytes}}
		for i := range c.slots {
			c.slots[i] = slot{wake: make(chan struct{}, 8), state: slotOpen, gen: 1}
		}
		region := newHeapRegion(landLines * lineBytes)
		c.region = newHeapRegion(MailboxBytes)
		counts := new(fetch.Counts)
		c.fetch = &fetcher{counts: counts, ways: fetch.NewWays(counts), region: region, lands: landLines, sync: true,
			size: fetch.NewSize(fetchLines, landLines), lines: MinRingBytes / lineBytes}
		for range reads%8 + 1 {
			copy(region.mem, mem)
			c.fetch.reading, c.fetch.asked = true, min(landLines, len(mem)/lineBytes)
			_, err := c.takeFetched()
			if err != nil && !errors.Is(err, ErrProtocol) {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			if n := cap(c.fetch.msg.Payload); n > 2*MinRingBytes {
				t.Fatalf("%d bytes kept for a message, the ring has %d", n, MinRingBytes)
			}
			if w := c.fetch.size.Read(0); w < 1 || w > landLines {
				t.Fatalf("the next Read is of %d lines", w)
			}
		}
	})
}
