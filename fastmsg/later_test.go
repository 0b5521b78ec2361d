package fastmsg

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/rdma"
)

// laterOf hands the requests of kindLong to other goroutines, and echoes kindSoon.
type laterOf struct {
	handlerFuncs
	asked chan asked
	ended chan error
}

type asked struct {
	Later
	payload []byte
}

const kindRefused Kind = 9

func newLaterOf() *laterOf {
	h := &laterOf{asked: make(chan asked, 4096), ended: make(chan error, 64)}
	h.closed = func(_ *Conn, err error) { h.ended <- err }
	h.serve = func(c *Conn, m Message) {
		if m.Kind == kindSoon {
			c.Respond(m.Kind, m.ID, m.Payload)
			return
		}
		l, err := c.Later(m.ID, len(m.Payload))
		if err != nil {
			c.Respond(kindRefused, m.ID, []byte(err.Error()))
			return
		}
		h.asked <- asked{l, bytes.Clone(m.Payload)}
	}
	return h
}

func number(i int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(i)) }

// A thousand requests of one connection wait for their answers while it and
// another are served, and are answered in random order by several goroutines.
func TestLaterInAnyOrder(t *testing.T) {
	const n = 1000
	overProviders(t, func(t *testing.T, p provider) {
		h := newLaterOf()
		s := serve(t, p, h, WorkerConfig{})
		c, other := s.dial(t, CallerConfig{}), s.dial(t, CallerConfig{})
		var calls sync.WaitGroup
		for i := range n {
			calls.Go(func() {
				got, kind, err := c.Call(within(t), kindLong, number(i), nil)
				if err != nil || kind != kindLong || !bytes.Equal(got, number(i)) {
					t.Errorf("call %d: %x of kind %d, %v", i, got, kind, err)
				}
			})
		}
		all := make([]asked, n)
		for i := range all {
			all[i] = <-h.asked
		}
		for _, c := range []*Caller{c, other} {
			if got, _, err := c.Call(within(t), kindSoon, []byte("soon"), nil); err != nil || string(got) != "soon" {
				t.Fatalf("meanwhile: %q, %v", got, err)
			}
		}
		newRand(7).Shuffle(n, func(i, k int) { all[i], all[k] = all[k], all[i] })
		var others sync.WaitGroup
		for g := range 4 {
			others.Go(func() {
				for i := g; i < n; i += 4 {
					if !all[i].Respond(kindLong, all[i].payload) || all[i].Respond(kindLong, []byte("again")) {
						t.Error("not exactly one answer")
					}
				}
			})
		}
		others.Wait()
		calls.Wait()
	})
}

// Respond from the worker's own goroutine.
func TestRespondFromWorkerGoroutine(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: func(c *Conn, m Message) {
			l, err := c.Later(m.ID, 0)
			if err != nil || !l.Respond(m.Kind, m.Payload) {
				t.Error(err)
			}
		}}, WorkerConfig{})
		c := s.dial(t, CallerConfig{})
		for i := range 100 {
			if got, _, err := c.Call(within(t), kindLong, number(i), nil); err != nil || !bytes.Equal(got, number(i)) {
				t.Fatalf("%x, %v", got, err)
			}
		}
	})
}

// Each answer wakes a sleeping worker without ticks, and a polling worker finds
// it.
func TestLaterWakes(t *testing.T) {
	for _, polling := range []bool{false, true} {
		overProviders(t, func(t *testing.T, p provider) {
			h := newLaterOf()
			s := serve(t, p, h, WorkerConfig{Polling: polling})
			c := s.dial(t, CallerConfig{})
			done := make(chan error, 1)
			for range 200 {
				go func() {
					_, _, err := c.Call(within(t), kindLong, nil, nil)
					done <- err
				}()
				a := <-h.asked
				if !polling && !p.inMemory && !p.placed {
					until(t, "asleep", func() bool {
						s.Worker.mu.Lock()
						defer s.Worker.mu.Unlock()
						return s.asleep
					})
				}
				a.Respond(kindLong, nil)
				if err := <-done; err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Each caller waits for its own answer, which a goroutine of its own gives: the
// worker falls asleep at any moment between them.
func TestLaterWhileFallingAsleep(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		h := newLaterOf()
		s := serve(t, p, h, WorkerConfig{})
		var others, calls sync.WaitGroup
		for range 3 {
			others.Go(func() {
				for a := range h.asked {
					a.Respond(kindLong, a.payload)
				}
			})
		}
		for range 2 {
			c := s.dial(t, CallerConfig{})
			for k := range 2 {
				calls.Go(func() {
					for i := range 3000 {
						if got, _, err := c.Call(within(t), kindLong, number(i+k), nil); err != nil || !bytes.Equal(got, number(i+k)) {
							t.Errorf("%x, %v", got, err)
							return
						}
					}
				})
			}
		}
		calls.Wait()
		s.stop()
		close(h.asked)
		others.Wait()
	})
}

// sleeper counts the calls of Wake and Wait.
type sleeper struct {
	rdma.CompletionQueue
	wakes, waits int
}

func (q *sleeper) Wake() { q.wakes++ }

func (q *sleeper) Wait(context.Context, time.Duration) error {
	q.waits++
	return nil
}

// A worker does not sleep while an answer waits. If it sleeps, the first
// answer wakes it, and later answers do not. None wakes it while it is awake.
func TestLaterWakesOnce(t *testing.T) {
	q := new(sleeper)
	w := &Worker{cq: q, cfg: WorkerConfig{MaxLater: 1000, Now: newClock().now}}
	c := &Conn{w: w}
	answer := func(n int) {
		for range n {
			l, err := c.Later(1, 0)
			if err != nil || !l.Respond(1, nil) {
				t.Fatal(err)
			}
		}
	}
	steps := []struct {
		name         string
		do           func()
		wakes, waits int
	}{
		{"awake", func() { answer(1) }, 0, 0},
		{"sleep beside an answer", func() { _ = w.sleep(t.Context()) }, 0, 0},
		{"taken over", w.takeOver, 0, 0},
		{"sleep", func() { _ = w.sleep(t.Context()) }, 0, 1},
		{"answers while asleep", func() { answer(100) }, 1, 1},
		{"sleep beside them", func() { _ = w.sleep(t.Context()) }, 1, 1},
		{"what is left goes first", w.takeOver, 1, 1},
		{"given", func() { w.late.next = len(w.late.now); w.takeOver() }, 1, 1},
		{"sleep again", func() { _ = w.sleep(t.Context()) }, 1, 2},
		{"woken by something else", w.takeOver, 1, 2},
		{"awake again", func() { answer(3) }, 1, 2},
	}
	for _, s := range steps {
		s.do()
		if q.wakes != s.wakes || q.waits != s.waits {
			t.Fatalf("%s: woken %d times, asleep %d times, want %d, %d", s.name, q.wakes, q.waits, s.wakes, s.waits)
		}
	}
	if len(w.late.now) != 100 || len(w.answered) != 3 {
		t.Fatalf("%d answers taken over, %d not, want 100 and 3", len(w.late.now), len(w.answered))
	}
}

// A Later whose request was answered cannot answer the request that its later
// serves now.
func TestStaleReplyHandleIsIgnored(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		h := newLaterOf()
		s := serve(t, p, h, WorkerConfig{})
		c := s.dial(t, CallerConfig{})
		done := make(chan []byte)
		var past []asked
		for i := range 20 {
			go func() {
				got, _, err := c.Call(within(t), kindLong, nil, nil)
				if err != nil {
					t.Error(err)
				}
				done <- got
			}()
			a := <-h.asked
			for _, old := range past {
				if old.Respond(kindLong, []byte("old")) {
					t.Fatal("an old Later answered")
				}
			}
			if i > 0 && a.l != past[0].l {
				t.Fatal("later is not used again")
			}
			a.Respond(kindLong, number(i))
			if got := <-done; !bytes.Equal(got, number(i)) {
				t.Fatalf("%q, want %x", got, number(i))
			}
			past = append(past, a)
		}
		if (Later{}).Respond(kindLong, nil) {
			t.Fatal("the zero Later answered")
		}
	})
}

// Requests in flight count until they are answered, also when their client has
// hung up, and the answers are dropped.
func TestLaterOfClosedConnection(t *testing.T) {
	const n, bytesEach = 100, 1000
	overProviders(t, func(t *testing.T, p provider) {
		h := newLaterOf()
		b := limits.NewBudget("bytes of answers", 1<<20, 1<<20)
		s := serve(t, p, h, WorkerConfig{Budget: b})
		ctx, cancel := context.WithCancel(within(t))
		c := s.dial(t, CallerConfig{})
		var calls sync.WaitGroup
		for range n {
			calls.Go(func() {
				if _, _, err := c.Call(ctx, kindLong, make([]byte, bytesEach), nil); !errors.Is(err, ErrUnknownOutcome) {
					t.Errorf("%v", err)
				}
			})
		}
		all := make([]asked, n)
		for i := range all {
			if all[i] = <-h.asked; all[i].Ended() {
				t.Fatal("its client is there")
			}
		}
		cancel()
		c.Close()
		calls.Wait()
		<-h.ended
		if u := b.Use(); u.Used != n*(laterBytes+bytesEach) || u.Sources != 1 {
			t.Fatalf("%+v", u)
		}
		if err := all[0].Take(5000); err != nil {
			t.Fatal(err)
		}
		all[0].Give(4000)
		if u := b.Use(); u.Used != n*(laterBytes+bytesEach)+1000 {
			t.Fatalf("%+v", u)
		}
		for i, a := range all {
			if !a.Ended() {
				t.Fatal("its client has hung up")
			}
			if !a.Respond(kindLong, make([]byte, 10*i)) {
				t.Fatal("not the answer")
			}
		}
		until(t, "all is given back", func() bool { u := b.Use(); return u.Used == 0 && u.Sources == 0 })
		d := s.dial(t, CallerConfig{})
		go func() { a := <-h.asked; a.Respond(kindLong, []byte("next")) }()
		if got, _, err := d.Call(within(t), kindLong, nil, nil); err != nil || string(got) != "next" {
			t.Fatalf("%q, %v", got, err)
		}
	})
}

// Answers while the worker ends, and afterwards: all accounts are empty.
func TestLaterOfEndedWorker(t *testing.T) {
	const n = 200
	overProviders(t, func(t *testing.T, p provider) {
		h := newLaterOf()
		b := limits.NewBudget("bytes of answers", 1<<20, 1<<20)
		s := serve(t, p, h, WorkerConfig{Budget: b})
		c := s.dial(t, CallerConfig{})
		var calls sync.WaitGroup
		for range n {
			calls.Go(func() { _, _, _ = c.Call(within(t), kindLong, nil, nil) })
		}
		all := make([]asked, n)
		for i := range all {
			all[i] = <-h.asked
		}
		var others sync.WaitGroup
		others.Go(func() {
			for _, a := range all[:n/2] {
				a.Respond(kindLong, nil)
			}
		})
		s.stop()
		others.Wait()
		if u := b.Use(); u.Used == 0 || u.Sources != 1 {
			t.Fatalf("before the last answers: %+v", u)
		}
		for _, a := range all[n/2:] {
			others.Go(func() { a.Respond(kindLong, nil) })
		}
		others.Wait()
		if u := b.Use(); u.Used != 0 || u.Sources != 0 {
			t.Fatalf("%+v", u)
		}
		calls.Wait()
	})
}

// Beyond MaxLater, and beyond the budget, requests are refused, and the others
// are not affected.
func TestLaterIsBounded(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		h := newLaterOf()
		const room = 10 * laterBytes
		b := limits.NewBudget("bytes of answers", room, room)
		s := serve(t, p, h, WorkerConfig{MaxLater: 3, Budget: b})
		c := s.dial(t, CallerConfig{})
		done := make(chan error, 3)
		ask := func(n int) {
			go func() {
				_, kind, err := c.Call(within(t), kindLong, make([]byte, n), nil)
				if err == nil && kind != kindLong {
					err = errors.New("refused")
				}
				done <- err
			}()
		}
		refused := func(n int, want string) {
			t.Helper()
			got, kind, err := c.Call(within(t), kindLong, make([]byte, n), nil)
			if err != nil || kind != kindRefused || !bytes.Contains(got, []byte(want)) {
				t.Fatalf("%q of kind %d, %v; want %q", got, kind, err, want)
			}
		}
		refused(room, limits.ErrExceeded.Error())
		for range 3 {
			ask(0)
		}
		all := []asked{<-h.asked, <-h.asked, <-h.asked}
		refused(0, ErrBusy.Error())
		refused(0, "limit 3")
		for _, a := range all {
			a.Respond(kindLong, nil)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		until(t, "given back", func() bool { return b.Use().Used == 0 })
		ask(0)
		a := <-h.asked
		a.Respond(kindLong, nil)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

// Answers larger than the ring wait in the backlog, in order with others, and
// answers that the budget refuses end their connection.
func TestLargeLaterAnswers(t *testing.T) {
	const n, size = 20, 20_000
	overProviders(t, func(t *testing.T, p provider) {
		h := newLaterOf()
		b := limits.NewBudget("bytes of answers", 4<<20, 4<<20)
		s := serve(t, p, h, WorkerConfig{Budget: b})
		c := s.dial(t, CallerConfig{RingBytes: MinRingBytes})
		var calls sync.WaitGroup
		for i := range n {
			calls.Go(func() {
				got, _, err := c.Call(within(t), kindLong, []byte{byte(i)}, nil)
				if err != nil || !bytes.Equal(got, bytes.Repeat([]byte{byte(i)}, size)) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			})
		}
		for range n {
			a := <-h.asked
			calls.Go(func() { a.Respond(kindLong, bytes.Repeat(a.payload, size)) })
		}
		calls.Wait()
		until(t, "given back", func() bool { return b.Use().Used == 0 })
		calls.Go(func() {
			if _, _, err := c.Call(within(t), kindLong, nil, nil); !errors.Is(err, ErrUnknownOutcome) {
				t.Errorf("%v", err)
			}
		})
		a := <-h.asked
		a.Respond(kindLong, make([]byte, 5<<20))
		if err := <-h.ended; !errors.Is(err, limits.ErrExceeded) {
			t.Fatal(err)
		}
		calls.Wait()
		until(t, "given back", func() bool { u := b.Use(); return u.Used == 0 && u.Sources == 0 })
		// Its later serves other requests.
		d := s.dial(t, CallerConfig{})
		for range n {
			calls.Go(func() { a := <-h.asked; a.Respond(kindLong, a.payload) })
			calls.Go(func() {
				if got, _, err := d.Call(within(t), kindLong, []byte("next"), nil); err != nil || string(got) != "next" {
					t.Errorf("%q, %v", got, err)
				}
			})
		}
		calls.Wait()
	})
}

// A turn takes turnAnswers of the answers, not more.
func TestLaterShareOfTurn(t *testing.T) {
	const n = 3*turnAnswers + 7
	overProviders(t, func(t *testing.T, p provider) {
		h := newLaterOf()
		clk := newClock()
		s := serve(t, p, h, WorkerConfig{Now: clk.now})
		c := s.dial(t, CallerConfig{})
		var calls sync.WaitGroup
		for range n {
			calls.Go(func() {
				if _, _, err := c.Call(within(t), kindLong, nil, nil); err != nil {
					t.Error(err)
				}
			})
		}
		all := make([]asked, n)
		for i := range all {
			all[i] = <-h.asked
		}
		s.Pause()
		before := s.Stats()
		for _, a := range all {
			a.Respond(kindLong, nil)
		}
		s.Resume()
		calls.Wait()
		s.stop()
		after := s.Stats()
		if turns := after.Batches - before.Batches; turns < 4 || after.Responses-before.Responses != n {
			t.Fatalf("%d answers in %d turns", after.Responses-before.Responses, turns)
		}
	})
}

// A later fills two lines, and laterBytes covers it.
func TestLaterSize(t *testing.T) {
	if n := unsafe.Sizeof(later{}); n != 128 || n+keepAnswer > laterBytes {
		t.Errorf("%d bytes", n)
	}
	if err := (&WorkerConfig{MaxLater: -1}).setDefaults(); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
}
