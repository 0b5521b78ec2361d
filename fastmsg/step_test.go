package fastmsg

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
)

// A request to a stepper: kind 1 is answered at once, kind 2 in steps.
const (
	kindSoon Kind = 1 + iota
	kindLong
)

// stepper answers kindLong by parts of partBytes, one in each step.
type stepper struct {
	handlerFuncs
	parts int // of one answer

	steps, served atomic.Int64
	ended         chan error
}

const partBytes = 1000

func newStepper(parts int) *stepper {
	s := &stepper{parts: parts, ended: make(chan error, 16)}
	s.closed = func(_ *Conn, err error) { s.ended <- err }
	s.serve = func(c *Conn, m Message) {
		if m.Kind == kindSoon {
			s.served.Add(1)
			c.Respond(m.Kind, m.ID, m.Payload)
			return
		}
		made := 0
		c.Continue(func(time.Duration) bool {
			s.steps.Add(1)
			part := bytes.Repeat([]byte{byte(made)}, partBytes)
			if made++; made < s.parts {
				c.RespondPart(m.Kind, m.ID, part)
				return false
			}
			c.Respond(m.Kind, m.ID, part)
			return true
		})
	}
	return s
}

func (s *stepper) want() []byte {
	var b []byte
	for i := range s.parts {
		b = append(b, bytes.Repeat([]byte{byte(i)}, partBytes)...)
	}
	return b
}

// More than the client's ring takes, so that steps also wait for room.
func TestAnswerInSteps(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		h := newStepper(200)
		s := serve(t, p, h, WorkerConfig{})
		c := s.dial(t, CallerConfig{RingBytes: MinRingBytes})
		for range 3 {
			got, kind, err := c.Call(within(t), kindLong, nil, nil)
			if err != nil || kind != kindLong || !bytes.Equal(got, h.want()) {
				t.Fatalf("%d bytes of kind %d, want %d: %v", len(got), kind, len(h.want()), err)
			}
			if got, _, err = c.Call(within(t), kindSoon, []byte("next"), nil); err != nil || string(got) != "next" {
				t.Fatalf("after it: %q, %v", got, err)
			}
		}
		if n := h.steps.Load(); n != 600 {
			t.Fatalf("%d steps, want 600", n)
		}
	})
}

// Others are served between the steps, and each connection makes the same number of steps.
func TestOthersBetweenSteps(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		var a, b, soon atomic.Int64
		begun := make(chan struct{}, 2)
		step := func(c *Conn, m Message, mine *atomic.Int64, until func() bool) {
			begun <- struct{}{}
			c.Continue(func(time.Duration) bool {
				mine.Add(1)
				if !until() {
					return false
				}
				c.Respond(m.Kind, m.ID, nil)
				return true
			})
		}
		over := func() bool { return soon.Load() >= 10 }
		s := serve(t, p, handlerFuncs{serve: func(c *Conn, m Message) {
			switch string(m.Payload) {
			case "a":
				step(c, m, &a, over)
			case "b":
				step(c, m, &b, over)
			default:
				soon.Add(1)
				c.Respond(m.Kind, m.ID, nil)
			}
		}}, WorkerConfig{})
		done := make(chan error, 2)
		for _, name := range []string{"a", "b"} {
			c := s.dial(t, CallerConfig{})
			go func() {
				_, _, err := c.Call(within(t), kindLong, []byte(name), nil)
				done <- err
			}()
			<-begun
		}
		c := s.dial(t, CallerConfig{})
		for range 10 {
			if _, _, err := c.Call(within(t), kindSoon, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		// b began later; from then on they alternated.
		if a.Load() < b.Load()-1 {
			t.Fatalf("%d steps of one, %d of the other", a.Load(), b.Load())
		}
	})
}

// A client that takes nothing makes no steps, so little waits for it; it loses
// its connection after StallTimeout, and another client notices nothing.
func TestStalledClientIsCut(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		h, clk := newStepper(1<<20), newClock()
		s := serve(t, p, h, WorkerConfig{Now: clk.now, StallTimeout: 10 * time.Second})
		x := newStranger(t, p)
		x.dial(t, s)
		x.request(t, kindLong)
		c := s.dial(t, CallerConfig{})
		call := func() {
			t.Helper()
			if _, _, err := c.Call(within(t), kindSoon, []byte("x"), nil); err != nil {
				t.Fatal(err)
			}
		}
		// Steps are made until its ring is full; then there are no more.
		last := int64(-1)
		for n := h.steps.Load(); n == 0 || n != last; n = h.steps.Load() {
			last = n
			for range 100 {
				call()
			}
		}
		if most := int64(MinRingBytes/partBytes) + 1; last > most {
			t.Fatalf("%d steps for a client that takes nothing, want at most %d", last, most)
		}
		// A stop of the server itself counts once, whatever its length.
		clk.advance(time.Hour)
		call()
		// Bytes that it took earlier do not count forever.
		for taken := 0; taken < 2*MinRingBytes; {
			taken += x.takeAll(t)
		}
		call()
		call()
		select {
		case err := <-h.ended:
			t.Fatalf("ended when the server had been stopped: %v", err)
		default:
		}
		for ended := false; !ended; {
			clk.advance(10 * time.Second / slowChecks)
			call()
			select {
			case err := <-h.ended:
				if ended = true; !errors.Is(err, ErrStalled) {
					t.Fatalf("ended with %v", err)
				}
			case <-within(t).Done():
				t.Fatal("not ended")
			default:
			}
		}
		call()
	})
}

// A client that takes a ring in each StallTimeout is not disconnected, however slow.
func TestSlowClientIsNotCut(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		h, clk := newStepper(200), newClock()
		s := serve(t, p, h, WorkerConfig{Now: clk.now, StallTimeout: 10 * time.Second})
		x := newStranger(t, p)
		x.dial(t, s)
		x.request(t, kindLong)
		for taken := 0; h.steps.Load() < 200; {
			if taken += x.takeAll(t); taken >= MinRingBytes {
				taken = 0
				clk.advance(10 * time.Second / slowChecks)
				s.cq.Wake()
			}
		}
		if _, _, err := s.dial(t, CallerConfig{}).Call(within(t), kindSoon, nil, nil); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-h.ended:
			t.Fatalf("ended: %v", err)
		default:
		}
	})
}

func TestAnswersOverBudget(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		b := limits.NewBudget("bytes of answers", 1<<20, 1<<20)
		ended := make(chan error, 4)
		s := serve(t, p, handlerFuncs{
			serve: func(c *Conn, m Message) {
				switch string(m.Payload) {
				case "respond":
					c.Respond(m.Kind, m.ID, make([]byte, 2<<20))
				case "hold":
					if err := c.Take(2 << 20); err != nil {
						c.Respond(m.Kind, m.ID, []byte(err.Error()))
					}
				default:
					c.Respond(m.Kind, m.ID, nil)
				}
			},
			closed: func(_ *Conn, err error) { ended <- err },
		}, WorkerConfig{Budget: b})
		c := s.dial(t, CallerConfig{})
		got, _, err := c.Call(within(t), kindSoon, []byte("hold"), nil)
		if err != nil || !strings.Contains(string(got), "limit 1048576") {
			t.Fatalf("%q, %v", got, err)
		}
		if _, _, err = c.Call(within(t), kindSoon, []byte("respond"), nil); err == nil {
			t.Fatal("an answer over the budget arrived")
		}
		if err := <-ended; !errors.Is(err, limits.ErrExceeded) {
			t.Fatalf("ended with %v", err)
		}
		if u := b.Use(); u.Used != 0 || u.Refused != 2 {
			t.Fatalf("%+v", u)
		}
	})
}

// The client that holds most makes room, although it is idle at the moment.
func TestLargestMakesRoom(t *testing.T) {
	p := providers[0]
	b := limits.NewBudget("bytes of answers", 100, 100)
	ended, held := make(chan error, 4), make(chan struct{}, 4)
	s := serve(t, p, handlerFuncs{
		serve: func(c *Conn, m Message) {
			if err := c.Take(int64(m.Payload[0])); err != nil {
				c.Fail(err)
			}
			held <- struct{}{}
			c.Respond(m.Kind, m.ID, nil)
		},
		closed: func(_ *Conn, err error) { ended <- err },
	}, WorkerConfig{Budget: b})
	big := b.Open("another source", func(err error) { ended <- err })
	if err := big.Take(60); err != nil {
		t.Fatal(err)
	}
	c := s.dial(t, CallerConfig{})
	if _, _, err := c.Call(within(t), kindSoon, []byte{50}, nil); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, limits.ErrCut) {
		t.Fatal(err)
	}
	// Now the connection holds most, and sleeps.
	other := b.Open("third", nil)
	if err := other.Take(45); err != nil {
		t.Fatal(err)
	}
	if err := b.Open("fourth", nil).Take(30); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, limits.ErrCut) {
		t.Fatal(err)
	}
	select {
	case <-c.Done():
	case <-within(t).Done():
		t.Fatal("the client did not notice")
	}
}

// A connection that ends in the middle of an answer makes no more steps.
func TestClosedBetweenSteps(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		h := newStepper(1 << 30)
		s := serve(t, p, h, WorkerConfig{})
		c := s.dial(t, CallerConfig{})
		ctx, cancel := context.WithCancel(within(t))
		go func() {
			defer cancel()
			until(t, "steps", func() bool { return h.steps.Load() > 10 })
		}()
		if _, _, err := c.Call(ctx, kindLong, nil, nil); err == nil {
			t.Fatal("an endless answer arrived")
		}
		c.Close()
		<-h.ended
		n := h.steps.Load()
		d := s.dial(t, CallerConfig{})
		for range 20 {
			if _, _, err := d.Call(context.Background(), kindSoon, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		if h.steps.Load() != n {
			t.Fatal("steps after the end of the connection")
		}
	})
}

// A parked connection makes no step until another goroutine resumes it.
func TestParkAndResume(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		work := make(chan func(), 1)
		var steps atomic.Int64
		s := serve(t, p, handlerFuncs{serve: func(c *Conn, m Message) {
			if m.Kind == kindSoon {
				c.Respond(m.Kind, m.ID, nil)
				return
			}
			first := true
			c.Continue(func(time.Duration) bool {
				steps.Add(1)
				if first {
					first = false
					c.Park()
					work <- c.Resume
					return false
				}
				c.Respond(m.Kind, m.ID, []byte("resumed"))
				return true
			})
		}}, WorkerConfig{})
		c := s.dial(t, CallerConfig{})
		other := s.dial(t, CallerConfig{})
		for n := int64(1); n <= 20; n++ {
			go func() {
				resume := <-work
				for range 5 { // turns of the worker
					if _, _, err := other.Call(within(t), kindSoon, nil, nil); err != nil {
						t.Error(err)
					}
				}
				if steps.Load() != 2*n-1 {
					t.Error("a step while it was parked")
				}
				resume()
			}()
			got, _, err := c.Call(within(t), kindLong, nil, nil)
			if err != nil || string(got) != "resumed" || steps.Load() != 2*n {
				t.Fatalf("%q after %d steps, want %d: %v", got, steps.Load(), 2*n, err)
			}
		}
	})
}

// Steps last as long as the requests of others, and grow when there are none.
func TestStepTime(t *testing.T) {
	w := &Worker{}
	us := time.Microsecond
	for i, s := range []struct{ others, want time.Duration }{
		{0, minStep}, {0, 2 * minStep}, {0, 4 * minStep}, {20 * us, 20 * us}, {0, 40 * us},
		{1 * us, minStep}, {time.Second, maxStep}, {0, maxStep}, {0, maxStep},
	} {
		if got := w.stepTime(s.others); got != s.want {
			t.Errorf("step %d: %v beside %v, want %v", i, got, s.others, s.want)
		}
	}
}

// A connection whose requests take long gets fewer in a turn, so that others
// are served between.
func TestShareIsBoundedInTime(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		// The bytes of the other's request may arrive before its completion.
		at := 0
		for range 10 {
			if at = slowBefore(t, p); at <= 4 {
				return
			}
		}
		t.Fatalf("%d slow requests before the other's", at)
	})
}

// appeared reports whether a placed ring has a whole message, or had one.
func appeared(in *recvRing) bool {
	h := decodeHeader(littleEndian(in.word(in.tail).Load()))
	return in.tail > 0 || h.size > 0 && littleEndian(in.word(uint64(h.size)-unitBytes).Load())>>56 == placedEnd
}

// slowBefore is how many slow requests of a client are served before that of another.
func slowBefore(t *testing.T, p provider) int {
	clk := newClock()
	var order []Kind // the worker's
	var conns []*Conn
	s := serve(t, p, handlerFuncs{
		opened: func(c *Conn) { conns = append(conns, c) },
		serve: func(c *Conn, m Message) {
			// The other's request must have arrived, or the test checks no
			// fairness.
			until(t, "the other's request", func() bool {
				if in := &conns[1].in; p.placed { // a request that was served is cleared
					return appeared(in)
				}
				mem := conns[1].requests.Bytes()
				return mem[0] != 0 && (!p.inMemory || tailOf(mem, len(mem)-tailBytes).Load() != 0)
			})
			order = append(order, m.Kind)
			if m.Kind == kindLong {
				clk.advance(shareTime / 2)
			}
			c.Respond(m.Kind, m.ID, nil)
		},
	}, WorkerConfig{Now: clk.now})
	slow := s.dial(t, CallerConfig{})
	until(t, "first", func() bool { return s.Stats().Connections == 1 })
	other := s.dial(t, CallerConfig{})
	until(t, "second", func() bool { return s.Stats().Connections == 2 })
	s.Pause()
	var group sync.WaitGroup
	call := func(c *Caller, kind Kind, n int) {
		payload := make([]byte, BatchPayload+1)
		for range n {
			group.Go(func() {
				if _, _, err := c.Call(within(t), kind, payload, nil); err != nil {
					t.Error(err)
				}
			})
		}
		until(t, "sent", func() bool { return sent(c) == uint64(n*messageBytes(len(payload))) })
	}
	call(slow, kindLong, turnRequests)
	call(other, kindSoon, 1)
	s.Resume()
	group.Wait()
	s.stop()
	return slices.Index(order, kindSoon)
}
