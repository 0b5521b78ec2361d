package fastmsg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/catfish-index/catfish/internal/lines"
	"github.com/catfish-index/catfish/rdma"
)

// left is where the answers lie that a stranger may fetch.
type left struct {
	ring    rdma.Remote
	lines   uint64
	next    uint64
	landing rdma.Region
}

// wait polls until a completion is what is wanted.
func (x *stranger) wait(t testing.TB, wanted func(c *rdma.Completion) bool) {
	t.Helper()
	for {
		var comps [1]rdma.Completion
		if x.cq.Poll(comps[:]) == 0 {
			if err := x.cq.Wait(within(t), -1); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if comps[0].Status != rdma.StatusOK {
			t.Fatal(comps[0].Err())
		}
		if wanted(&comps[0]) {
			return
		}
	}
}

// findLeft waits for the message that says where the answers lie.
func (x *stranger) findLeft(t testing.TB) {
	t.Helper()
	x.wait(t, func(c *rdma.Completion) bool { return c.Op == rdma.OpRecv })
	b := x.region.Bytes()[MailboxBytes:]
	if h := decodeHeader(binary.LittleEndian.Uint64(b)); h.flags != FlagWhere {
		t.Fatalf("the first message has flags %#x, want %#x", h.flags, FlagWhere)
	}
	b = b[headerBytes:]
	l := &x.left
	l.ring = rdma.Remote{Key: rdma.Key(binary.LittleEndian.Uint64(b)), Addr: binary.LittleEndian.Uint64(b[8:])}
	l.lines, l.next = uint64(binary.LittleEndian.Uint32(b[16:])), binary.LittleEndian.Uint64(b[20:])
	var err error
	if l.landing, err = x.dev.Register(int(l.lines)*lineBytes, rdma.LocalWrite); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.landing.Close() })
}

// takeLeft fetches until there is a message, says that it has all, and returns how many
// bytes of lines that was.
func (x *stranger) takeLeft(t testing.TB) int {
	t.Helper()
	l := &x.left
	if l.lines == 0 {
		x.findLeft(t)
	}
	from := l.next
	for l.next == from {
		x.look(t)
	}
	x.sayLeft(t, sayTook, l.next)
	return int(l.next-from) * lineBytes
}

// look fetches all lines, and takes the messages that are whole.
func (x *stranger) look(t testing.TB) {
	t.Helper()
	l := &x.left
	{
		if _, err := x.qp.Post([]rdma.WorkRequest{{
			Op: rdma.OpRead, Local: rdma.Buffer{Region: l.landing, Len: int(l.lines) * lineBytes}, Remote: l.ring,
		}}); err != nil {
			t.Fatal(err)
		}
		x.wait(t, func(c *rdma.Completion) bool { return c.Op == rdma.OpRead })
		for l.whole() {
		}
	}
}

func (x *stranger) sayLeft(t testing.TB, what uint32, line uint64) {
	t.Helper()
	x.send(t, 0, nil, what|uint32(line)&positionMask)
}

// whole takes the next message, if all of its lines are there.
func (l *left) whole() bool {
	line := func(at uint64) []byte { return l.landing.Bytes()[at%l.lines*lineBytes:][:lineBytes] }
	valid := func(at uint64) bool { return binary.LittleEndian.Uint32(line(at)) == uint32(at+1) }
	if !valid(l.next) {
		return false
	}
	h := decodeHeader(binary.LittleEndian.Uint64(line(l.next)[wordBytes:]))
	end := l.next + linesOf(int(h.size)-headerBytes-int(h.fill))
	for at := l.next; at < end; at++ {
		if !valid(at) {
			return false
		}
	}
	l.next = end
	return true
}

// TestServerPostsNothing: answers that come soon are fetched, and the server posts
// nothing for them, nor for the room of their requests.
func TestServerPostsNothing(t *testing.T) {
	overFetch(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{})
		var counts FetchCounts
		c := s.dial(t, CallerConfig{FetchCounts: &counts})
		fetching(t, c)
		const calls = 2000
		before, changes := s.Stats(), counts.Changes.Load()
		for range calls {
			if got, _, err := c.Call(within(t), 1, []byte("twenty bytes of text"), nil); err != nil || len(got) != 20 {
				t.Fatalf("%q, %v", got, err)
			}
		}
		until(t, "counted", func() bool { return s.Stats().Responses == before.Responses+calls })
		after := s.Stats()
		posted, fetchable := after.Posted-before.Posted, after.Fetchable-before.Fetchable
		if counts.Changes.Load() == changes && posted != 0 {
			t.Errorf("the server posted %d work requests, and all of %d answers were fetched", posted, calls)
		}
		if fetchable == 0 {
			t.Error("no answer was left to be fetched")
		}
		t.Logf("%d answers: posted %d; reads %d, in vain %d, changes %d, since the dial", calls, posted,
			counts.Reads.Load(), counts.Vain.Load(), counts.Changes.Load())
	})
}

// overFetch is overProviders with answers that are fetched.
func overFetch(t *testing.T, run func(t *testing.T, p provider)) {
	for _, p := range providers {
		p.fetch = true
		t.Run("transport="+p.name, func(t *testing.T) { run(t, p) })
	}
}

// fetching waits until the client fetches.
func fetching(t testing.TB, c *Caller) {
	t.Helper()
	until(t, "answers are fetched", func() bool {
		if _, _, err := c.Call(within(t), 1, nil, nil); err != nil {
			t.Fatal(err)
		}
		return c.Fetching()
	})
}

// TestChangesOver: a client whose answers take long has them written, fetches again
// when they are quick, and gets each answer once, whole, also in many pieces.
func TestChangesOver(t *testing.T) {
	overFetch(t, func(t *testing.T, p provider) {
		gate := make(chan struct{})
		defer close(gate) // also if the test fails
		s := serve(t, p, handlerFuncs{serve: func(c *Conn, m Message) {
			if m.Kind == 2 {
				<-gate
			}
			for range 3 {
				c.RespondPart(m.Kind, m.ID, m.Payload)
			}
			c.Respond(m.Kind, m.ID, m.Payload)
		}}, WorkerConfig{})
		c := s.dial(t, CallerConfig{RingBytes: MinRingBytes})
		for round := range 20 {
			fetching(t, c)
			want := bytes.Repeat([]byte{byte(round)}, 40*round)
			done := make(chan error, 8)
			for i := range cap(done) {
				kind := Kind(1)
				if i == cap(done)/2 {
					kind = 2
				}
				go func() {
					got, _, err := c.Call(within(t), kind, want, nil)
					if err == nil && !bytes.Equal(got, bytes.Repeat(want, 4)) {
						err = fmt.Errorf("%d bytes, want %d, or others", len(got), 4*len(want))
					}
					done <- err
				}()
			}
			until(t, "the answers are written", func() bool { return !c.Fetching() })
			gate <- struct{}{}
			for range cap(done) {
				if err := <-done; err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestRides: what the owner of the server has for the mailbox comes with an answer that
// is fetched, and once.
func TestRides(t *testing.T) {
	overFetch(t, func(t *testing.T, p provider) {
		rode := make(chan bool, 2)
		s := serve(t, p, handlerFuncs{serve: func(c *Conn, m Message) {
			if m.Kind == 2 {
				rode <- c.Ride(m.Payload)
				rode <- c.Ride(m.Payload) // one waits
			}
			c.Respond(m.Kind, m.ID, nil)
		}}, WorkerConfig{})
		var counts FetchCounts
		c := s.dial(t, CallerConfig{FetchCounts: &counts})
		for n := uint64(1); n < 20; {
			fetching(t, c)
			news := bytes.Repeat([]byte{byte(n)}, RideBytes)
			if _, _, err := c.Call(within(t), 2, news, nil); err != nil {
				t.Fatal(err)
			}
			first, second := <-rode, <-rode
			if second {
				t.Fatal("two at once")
			}
			if !first {
				continue // the client has changed over to answers that are written
			}
			if _, _, err := c.Call(within(t), 1, nil, nil); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, RideBytes)
			lines.Copy(got, c.Mailbox())
			if counts.Changes.Load() == 0 && !bytes.Equal(got, news) {
				t.Fatalf("mailbox has %x, want %x", got, news)
			}
			n++
		}
	})
}

// TestHostileFetchers: each violates one rule of answers that are fetched, and loses
// its connection.
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
		opened, closed := make(chan *Conn, 1), make(chan error, 1)
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
				x.findLeft(t)
				attack(t, x)
				if err := <-closed; !errors.Is(err, ErrProtocol) {
					t.Errorf("connection ends with %v", err)
				}
				if got, _, err := friend.Call(within(t), 1, []byte("hi"), nil); err != nil || string(got) != "hi" {
					t.Errorf("friend: %q, %v", got, err)
				}
			})
		}
	})
}

// TestHostileLeavers: a server that leaves what is no answer, or says that it lies
// where it cannot, loses its client, and the client's calls end.
func TestHostileLeavers(t *testing.T) {
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

// FuzzFetched: whatever lies in a server's memory, the client ends the connection with
// ErrProtocol or takes no more than it says.
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
		c.fetch = &fetcher{counts: new(FetchCounts), region: region, lands: landLines, sync: true,
			window: fetchLines, lines: MinRingBytes / lineBytes}
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
			if w := c.fetch.window; w < 1 || w > landLines {
				t.Fatalf("window of %d lines", w)
			}
		}
	})
}
