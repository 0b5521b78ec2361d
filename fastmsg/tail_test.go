package fastmsg

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/tailword"
)

// TestTailSources: a word is not changed while its Write may be outstanding,
// whatever Post refuses in between.
func TestTailSources(t *testing.T) {
	p := newPair(MinRingBytes, true)
	rng := newRand(5)
	var outstanding []int // offsets of the sources of Writes, -1: of bytes
	for range 20_000 {
		p.out.append(1, FlagEnd, 0, nil)
		posted := p.out.posted
		n := p.out.prepare(&p.wrs)
		if room := callerDepth(true) - len(outstanding); room < n || rng.IntN(4) == 0 {
			if at := p.wrs[n-1].Local.Offset; contains(outstanding, at) {
				t.Fatalf("source at %d of a Write that was refused is in use", at)
			}
			taken := rng.IntN(min(room, n-1) + 1)
			for range taken {
				outstanding = append(outstanding, -1)
			}
			p.out.abort(posted, taken)
			if room < n { // completions: any number of the oldest
				outstanding = outstanding[1+rng.IntN(len(outstanding)-1):]
			}
			continue
		}
		for _, wr := range p.wrs[:n-1] {
			if wr.Remote == p.out.word.remote {
				t.Fatal("a word before the last Write")
			}
			outstanding = append(outstanding, -1)
		}
		at := p.wrs[n-1].Local.Offset
		if contains(outstanding, at) {
			t.Fatalf("source at %d is in use", at)
		}
		outstanding = append(outstanding, at)
		p.out.head = p.out.posted // the reader is never behind
	}
}

func contains(offsets []int, at int) bool {
	for _, o := range offsets {
		if o == at {
			return true
		}
	}
	return false
}

// sees reports whether a word was seen at any connection.
func (s *server) sees(word uint64) bool {
	var b [wordBytes]byte
	binary.LittleEndian.PutUint64(b[:], word)
	s.Pause()
	defer s.Resume()
	return slices.ContainsFunc(s.words, func(w watched) bool { return w.seen == binary.NativeEndian.Uint64(b[:]) })
}

// TestForgedTails: an impossible tail closes its connection, and no other.
func TestForgedTails(t *testing.T) {
	good := message(header{size: 32, kind: 1, flags: FlagEnd})
	attacks := map[string]func(x *stranger, s *server) error{
		"backwards": func(x *stranger, s *server) error {
			return errors.Join(x.post(0, good, 4), x.writeWord(tailword.Of(16)))
		},
		"back to the start": func(x *stranger, s *server) error {
			return errors.Join(x.post(0, good, 4), x.writeWord(tailword.Of(0)))
		},
		"behind the start":          func(x *stranger, s *server) error { return x.writeWord(tailword.Of(1<<35 - 8)) },
		"a unit over the ring":      func(x *stranger, s *server) error { return x.writeWord(tailword.Of(DefaultRingBytes + 8)) },
		"half of all":               func(x *stranger, s *server) error { return x.writeWord(tailword.Of(1 << 34)) },
		"into the middle of one":    func(x *stranger, s *server) error { return x.post(0, good, 3) },
		"a unit after the last one": func(x *stranger, s *server) error { return x.post(0, good, 5) },
		"nothing":                   func(x *stranger, s *server) error { return x.writeWord(tailword.Of(0)) },
		"the same again": func(x *stranger, s *server) error {
			const torn = 1<<64 - 1 // in between, or it would not change
			err := x.post(0, good, 4)
			until(t, "the word is seen", func() bool { return s.sees(tailword.Of(32)) })
			err = errors.Join(err, x.writeWord(torn))
			until(t, "the torn word is seen", func() bool { return s.sees(torn) })
			return errors.Join(err, x.writeWord(tailword.Of(32)))
		},
		"by an event": func(x *stranger, s *server) error {
			_, err := x.qp.Post([]rdma.WorkRequest{{Op: rdma.OpWriteImm, Imm: 4}})
			return err
		},
	}
	overProviders(t, func(t *testing.T, p provider) {
		s, opened, closed, friendAsks := besideFriend(t, p)
		for name, attack := range attacks {
			t.Run(name, func(t *testing.T) {
				x := newStranger(t, p)
				x.inMemory = true
				x.dial(t, s)
				<-opened
				if err := attack(x, s); err != nil {
					t.Fatal(err)
				}
				if err := <-closed; !errors.Is(err, ErrProtocol) {
					t.Errorf("connection ends with %v", err)
				}
				friendAsks()
			})
		}
	})
}

// TestIncompleteTail: a word whose halves do not fit announces nothing until
// the rest of it arrives.
func TestIncompleteTail(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		served := make(chan Message, 2)
		s := serve(t, p, handlerFuncs{serve: func(_ *Conn, m Message) { served <- m }}, WorkerConfig{})
		friend := newStranger(t, p)
		friend.inMemory = true
		friend.dial(t, s)
		x := newStranger(t, p)
		x.inMemory = true
		x.dial(t, s)
		good := message(header{size: 32, kind: 7, flags: FlagEnd})
		old := tailword.Of(32)
		for _, torn := range []uint64{old >> 32 << 32, uint64(uint32(old)), 1<<64 - 1} {
			if err := x.writeWord(torn); err != nil {
				t.Fatal(err)
			}
		}
		friend.send(t, 0, message(header{size: 32, kind: 8, flags: FlagEnd}), 4)
		if m := <-served; m.Kind != 8 {
			t.Fatalf("served kind %d", m.Kind)
		}
		x.send(t, 0, good, 4)
		if m := <-served; m.Kind != 7 {
			t.Fatalf("served kind %d", m.Kind)
		}
	})
}

// TestRequestsRaiseNoEvents: the server finds requests announced in memory
// there, and in no completion queue.
func TestRequestsRaiseNoEvents(t *testing.T) {
	for _, p := range providers {
		t.Run("transport="+p.name, func(t *testing.T) {
			x := newStranger(t, p)
			lis, err := x.dev.Listen(p.addr(t))
			if err != nil {
				t.Fatal(err)
			}
			defer lis.Close()
			accepted := make(chan error, 1)
			go func() { accepted <- x.accept(t, lis) }()
			c, err := Dial(within(t), p.open(t), lis.Addr(), CallerConfig{InMemory: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := <-accepted; err != nil {
				t.Fatal(err)
			}
			defer x.qp.Close()
			ended := make(chan struct{})
			go func() {
				_, _, _ = c.Call(within(t), 5, []byte("12345678"), nil) // never answered
				close(ended)
			}()
			word := tailOf(x.region.Bytes(), MinRingBytes)
			until(t, "the tail is there", func() bool {
				n, ok := tailword.Units(word.Load())
				return ok && n == 3
			})
			if h := decodeHeader(binary.LittleEndian.Uint64(x.region.Bytes())); h.size != 24 || h.kind != 5 {
				t.Errorf("the ring has %+v", h)
			}
			if n := x.cq.Poll(make([]rdma.Completion, 4)); n != 0 {
				t.Errorf("%d events", n)
			}
			c.Close()
			<-ended
		})
	}
}

// TestInMemoryMustBeGranted: a client refuses a server that does not accept announcements
// in memory.
func TestInMemoryMustBeGranted(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		x := newStranger(t, p)
		lis, err := x.dev.Listen(p.addr(t))
		if err != nil {
			t.Fatal(err)
		}
		defer lis.Close()
		var accepting sync.WaitGroup
		defer accepting.Wait() // the dialer does not wait: it ends when it reads the answer
		accepting.Go(func() {
			req, err := lis.Accept(within(t))
			if err != nil {
				t.Error(err)
				return
			}
			private, err := handshake{MinRingBytes, x.region.Remote(), nil, !p.inMemory, p.fetch, false}.encode()
			if err != nil {
				t.Error(err)
			}
			// A dialer that has ended meanwhile cannot be accepted.
			if _, err = req.Accept(x.config(), private); err != nil && !errors.Is(err, rdma.ErrQueuePair) {
				t.Error(err)
			}
		})
		if _, err = Dial(within(t), p.open(t), lis.Addr(), CallerConfig{InMemory: p.inMemory}); !errors.Is(err, ErrProtocol) {
			t.Fatalf("got %v", err)
		}
	})
}

// TestManyTails: connections of both kinds come and go, and the open ones are served.
func TestManyTails(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{RingBytes: MinRingBytes})
		rng := newRand(9)
		var callers []*Caller
		for round := range 40 {
			if len(callers) < 3 || rng.IntN(2) == 0 {
				c, err := Dial(within(t), p.open(t), s.addr, CallerConfig{RingBytes: MinRingBytes, InMemory: rng.IntN(3) > 0})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				callers = append(callers, c)
			} else {
				i := rng.IntN(len(callers))
				callers[i].Close()
				callers[i] = callers[len(callers)-1]
				callers = callers[:len(callers)-1]
			}
			for i, c := range callers {
				want := fmt.Sprint(round, i)
				if got, _, err := c.Call(within(t), 1, []byte(want), nil); err != nil || string(got) != want {
					t.Fatalf("caller %d: %q, %v, want %q", i, got, err, want)
				}
			}
		}
		until(t, "the others are closed", func() bool { return s.Stats().Connections == len(callers) })
		s.stop()
		if len(s.words) != 0 || len(s.wordsOf) != 0 || s.pollers != 0 {
			t.Errorf("%d words, %d of connections, %d pollers are left", len(s.words), len(s.wordsOf), s.pollers)
		}
	})
}

// TestOwnThread: a worker with a thread of its own serves, sleeping or not, and
// keeps the thread while it polls, but where goroutines are the card.
func TestOwnThread(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{OwnThread: true})
		a, b := s.dial(t, CallerConfig{}), s.dial(t, CallerConfig{})
		for range 200 {
			for _, c := range []*Caller{a, b} {
				if got, _, err := c.Call(within(t), 1, []byte("x"), nil); err != nil || string(got) != "x" {
					t.Fatalf("%q, %v", got, err)
				}
			}
		}
		locked := func() bool {
			s.Pause()
			defer s.Resume()
			return s.locked
		}
		if p.inMemory || p.placed {
			if s.info.Emulated {
				if locked() {
					t.Error("it keeps a thread from an emulated card")
				}
			} else {
				until(t, "it has its thread while it polls", locked)
			}
			a.Close()
			b.Close()
			until(t, "it gives its thread back", func() bool { return !locked() })
		}
		until(t, "it sleeps", func() bool { return s.Stats().Sleeps > 0 })
		if locked() {
			t.Error("it keeps its thread while it sleeps")
		}
		if n := s.Stats().Requests; n != 400 {
			t.Errorf("%d requests, want 400", n)
		}
	})
}
