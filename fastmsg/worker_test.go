package fastmsg

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// clock is a fake clock that the test advances.
type clock struct{ ns atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ns.Store(1_000_000_000)
	return c
}
func (c *clock) now() time.Time          { return time.Unix(0, c.ns.Load()) }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }

// TestTickUnderSaturation: each request takes 1 ms of the fake clock,
// and there are always more. Ticks come every 10 ms, late by no more
// than one turn of a connection.
func TestTickUnderSaturation(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		clk := newClock()
		var mu sync.Mutex
		var ticks []time.Duration
		s := serve(t, p, handlerFuncs{serve: func(c *Conn, m Message) {
			clk.advance(time.Millisecond)
			c.Respond(1, m.ID, nil)
		}}, WorkerConfig{
			Now: clk.now, TickEvery: 10 * time.Millisecond,
			Tick: func(now time.Time, conns []*Conn) bool {
				mu.Lock()
				defer mu.Unlock()
				if len(conns) == 0 {
					t.Error("tick without connections")
				}
				ticks = append(ticks, time.Duration(now.UnixNano()))
				return true
			},
		})
		var group sync.WaitGroup
		const callers, each = 16, 50
		for range callers {
			c := s.dial(t, CallerConfig{})
			group.Go(func() {
				for range each {
					if _, _, err := c.Call(within(t), 1, nil, nil); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
		s.stop()
		mu.Lock()
		defer mu.Unlock()
		if want := callers * each / 10; len(ticks) < want/2 {
			t.Fatalf("%d ticks in %d ms", len(ticks), callers*each)
		}
		for i := 1; i < len(ticks); i++ {
			gap := ticks[i] - ticks[i-1]
			if limit := 10*time.Millisecond + turnRequests*time.Millisecond; gap > limit {
				t.Fatalf("tick %d came %v after the one before, limit %v", i, gap, limit)
			}
		}
	})
}

// TestIdleServerSleeps: without ticks to do, or with ticks that want no
// more, a worker waits until something arrives.
func TestIdleServerSleeps(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		var ticks atomic.Int32
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{
			TickEvery: time.Millisecond,
			Tick: func(time.Time, []*Conn) bool {
				ticks.Add(1)
				return false
			},
		})
		c := s.dial(t, CallerConfig{})
		for range 3 {
			if _, _, err := c.Call(within(t), 1, nil, nil); err != nil {
				t.Fatal(err)
			}
			// It sleeps: there was a tick for the arrival, and no more.
			var sleeps uint64
			until(t, "sleep", func() bool {
				was := sleeps
				sleeps = s.Stats().Sleeps
				s.Pause() // a whole turn between two calls of Stats
				s.Resume()
				return was == sleeps || sleeps > 100
			})
		}
		n := ticks.Load()
		if n == 0 || n > 100 {
			t.Fatalf("%d ticks for 3 requests", n)
		}
		// It ticks when it is asked to, too.
		s.TickSoon()
		until(t, "a tick", func() bool { return ticks.Load() > n })
	})
}

// TestPolling: the polling mode serves, never sleeps, and its spinning
// is not counted as busy.
func TestPolling(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		var ticks atomic.Int32
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{
			Polling: true, TickEvery: time.Millisecond,
			Tick: func(time.Time, []*Conn) bool { ticks.Add(1); return true },
		})
		c := s.dial(t, CallerConfig{})
		for range 100 {
			if _, _, err := c.Call(within(t), 1, []byte("poll"), nil); err != nil {
				t.Fatal(err)
			}
		}
		until(t, "ticks", func() bool { return ticks.Load() > 2 })
		s.Pause()
		if st := s.Stats(); st.Sleeps != 0 || st.Spun == 0 || st.Requests != 100 {
			t.Fatalf("stats %+v", st)
		}
		s.Resume()
	})
}

// TestStats: the numbers match the events, on a fake clock.
func TestStats(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		clk := newClock()
		hold, held := make(chan struct{}), make(chan struct{})
		s := serve(t, p, handlerFuncs{serve: func(c *Conn, m Message) {
			if m.Kind == 9 {
				held <- struct{}{}
				<-hold
			}
			clk.advance(time.Second)
			c.Respond(1, m.ID, make([]byte, 100))
		}}, WorkerConfig{Now: clk.now})
		c := s.dial(t, CallerConfig{})
		for range 5 {
			if _, _, err := c.Call(within(t), 1, make([]byte, 10), nil); err != nil {
				t.Fatal(err)
			}
		}
		s.Pause()
		st := s.Stats()
		if st.Requests != 5 || st.Responses != 5 || st.BytesIn != 50 || st.BytesOut != 500 ||
			st.Busy != 5*time.Second || st.Connections != 1 || st.Waiting != 0 || st.Batches == 0 {
			t.Fatalf("stats %+v", st)
		}
		// One request is being served, others wait for it.
		var group sync.WaitGroup
		call := func(kind Kind) {
			group.Go(func() {
				if _, _, err := c.Call(within(t), kind, make([]byte, 10), nil); err != nil {
					t.Error(err)
				}
			})
		}
		before := sent(c)
		call(9)
		until(t, "the held request is sent", func() bool { return sent(c) > before })
		for range 7 {
			call(1)
		}
		until(t, "eight are sent", func() bool {
			return sent(c) == before+8*uint64(messageBytes(10))
		})
		s.Resume()
		<-held
		// Busy counts while the request is still being served.
		clk.advance(time.Hour)
		if st := s.Stats(); st.Busy < time.Hour {
			t.Errorf("busy %v in the middle of an hour's request", st.Busy)
		}
		close(hold)
		group.Wait()
	})
}

// TestAddStats: no field is forgotten.
func TestAddStats(t *testing.T) {
	var sum, one WorkerStats
	v := reflect.ValueOf(&one).Elem()
	for i := range v.NumField() {
		v.Field(i).Set(reflect.ValueOf(i + 1).Convert(v.Field(i).Type()))
	}
	if sum.Add(one); sum != one {
		t.Errorf("%+v, want %+v", sum, one)
	}
	sum.Add(one)
	for i, s := 0, reflect.ValueOf(sum); i < s.NumField(); i++ {
		if want := reflect.ValueOf(2 * (i + 1)).Convert(s.Field(i).Type()); !s.Field(i).Equal(want) {
			t.Errorf("%s: %v, want %v", s.Type().Field(i).Name, s.Field(i), want)
		}
	}
}

// TestWaiting: requests that piled up while the worker was paused are
// counted when it comes back.
func TestWaiting(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		var s *server
		waiting := make(chan int, 100)
		request := make([]byte, 15) // as many bytes in a ring, however messages are announced
		s = serve(t, p, handlerFuncs{serve: func(c *Conn, m Message) {
			waiting <- s.Stats().Waiting
			c.Respond(1, m.ID, nil)
		}}, WorkerConfig{})
		callers := make([]*Caller, 4)
		for i := range callers {
			callers[i] = s.dial(t, CallerConfig{})
			if _, _, err := callers[i].Call(within(t), 1, request, nil); err != nil {
				t.Fatal(err)
			}
			<-waiting
		}
		s.Pause()
		var group sync.WaitGroup
		for _, c := range callers {
			before := sent(c)
			for range 5 {
				group.Go(func() {
					if _, _, err := c.Call(within(t), 1, request, nil); err != nil {
						t.Error(err)
					}
				})
			}
			until(t, "five are sent", func() bool { return sent(c) == before+5*uint64(messageBytes(len(request))) })
		}
		s.Resume()
		group.Wait()
		most := 0
		for range 20 {
			most = max(most, <-waiting)
		}
		// At least one connection's five arrive together, at most all.
		if most < 5 || most > 20 {
			t.Fatalf("at most %d were waiting, 20 were sent", most)
		}
	})
}

// TestGreedyClientDoesNotStarveOthers: a client with a full ring gets
// turnRequests per turn, another's request is served in between.
func TestGreedyClientDoesNotStarveOthers(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		var conns []*Conn
		var order []Kind // the worker's, as conns
		arrived := false
		request := make([]byte, 7) // as many bytes in a ring, however messages are announced
		s := serve(t, p, handlerFuncs{
			opened: func(c *Conn) { conns = append(conns, c) },
			serve: func(c *Conn, m Message) {
				// The other's request must have arrived, or the test
				// checks no fairness.
				until(t, "modest client's request", func() bool {
					if in := &conns[1].in; p.placed { // a request that was served is cleared
						arrived = arrived || appeared(in)
						return arrived
					}
					mem := conns[1].requests.Bytes()
					arrived = arrived || mem[0] != 0 && (!p.inMemory || tailOf(mem, len(mem)-tailBytes).Load() != 0)
					return arrived
				})
				order = append(order, m.Kind)
				c.Respond(m.Kind, m.ID, nil)
			},
		}, WorkerConfig{})
		greedy := s.dial(t, CallerConfig{})
		until(t, "greedy is first", func() bool { return s.Stats().Connections == 1 })
		modest := s.dial(t, CallerConfig{})
		until(t, "modest is second", func() bool { return s.Stats().Connections == 2 })
		s.Pause()
		var group sync.WaitGroup
		call := func(c *Caller, kind Kind, n int) {
			for range n {
				group.Go(func() {
					if _, _, err := c.Call(within(t), kind, request, nil); err != nil {
						t.Error(err)
					}
				})
			}
			until(t, "sent", func() bool { return sent(c) == uint64(n*messageBytes(len(request))) })
		}
		const many = 20 * turnRequests
		call(greedy, 1, many)
		call(modest, 2, 1)
		s.Resume()
		group.Wait()
		s.stop()
		for at, kind := range order {
			if kind == 2 {
				// Up to batchEvents of the greedy client's events may be polled
				// before the modest one's, in many/batchEvents turns.
				if limit := (many/batchEvents + 2) * turnRequests; at > limit {
					t.Fatalf("served as number %d of %d, limit %d", at+1, len(order), limit)
				}
				return
			}
		}
		t.Fatal("never served")
	})
}

func TestWorkerLifeCycle(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		dev := p.open(t)
		w, err := NewWorker(dev, handlerFuncs{}, WorkerConfig{})
		if err != nil {
			t.Fatal(err)
		}
		w.Pause() // a worker that does not run rests
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		cancel() // also ends a paused one
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("Run: %v", err)
		}
		w.Resume()
		if err := w.Run(context.Background()); !errors.Is(err, ErrClosed) {
			t.Fatalf("second Run: %v", err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		unused, err := NewWorker(dev, handlerFuncs{}, WorkerConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if err := unused.Close(); err != nil {
			t.Fatal(err)
		}
		for _, cfg := range []WorkerConfig{
			{RingBytes: 1}, {RingBytes: MinRingBytes + 8}, {RingBytes: -4096},
			{RingBytes: 2 * MaxRingBytes}, {TickEvery: -1},
		} {
			if _, err := NewWorker(dev, handlerFuncs{}, cfg); !errors.Is(err, ErrConfig) {
				t.Errorf("%+v: %v", cfg, err)
			}
		}
		for _, cfg := range []CallerConfig{
			{RingBytes: 1}, {MaxInFlight: -1}, {MaxAnswerBytes: -1},
		} {
			if _, err := Dial(within(t), dev, "nowhere", cfg); !errors.Is(err, ErrConfig) {
				t.Errorf("%+v: %v", cfg, err)
			}
		}
	})
}

// TestHandlerFails: a connection that its handler fails ends, others
// continue.
func TestHandlerFails(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		reason := errors.New("I do not like you")
		closed := make(chan error, 2)
		s := serve(t, p, handlerFuncs{
			serve: func(c *Conn, m Message) {
				if m.Kind == 66 {
					c.Fail(reason)
					c.Respond(1, m.ID, nil) // too late
					return
				}
				echo(c, m)
			},
			closed: func(_ *Conn, err error) { closed <- err },
		}, WorkerConfig{})
		bad, good := s.dial(t, CallerConfig{}), s.dial(t, CallerConfig{})
		if _, _, err := bad.Call(within(t), 66, nil, nil); !errors.Is(err, ErrUnknownOutcome) {
			t.Fatalf("bad: %v", err)
		}
		if err := <-closed; !errors.Is(err, reason) {
			t.Fatalf("closed with %v", err)
		}
		if _, _, err := good.Call(within(t), 1, nil, nil); err != nil {
			t.Fatalf("good: %v", err)
		}
	})
}
