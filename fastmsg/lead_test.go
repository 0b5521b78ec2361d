package fastmsg

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
)

// led makes calls until one of them had the lead, if callers can lead.
func led(t *testing.T, c *Caller) {
	t.Helper()
	before := c.lead.led.Load()
	until(t, "a caller leads", func() bool {
		if got, err := callOnce(c, 1, []byte("x")); err != nil || string(got) != "x" {
			t.Fatalf("%q, %v", got, err)
		}
		return !c.lead.able || c.lead.led.Load() > before
	})
}

// TestCallerLeads: a single call is made without the Caller's goroutine, which takes
// over when an answer takes long, there are many calls, or none.
func TestCallerLeads(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{})
		c := s.dial(t, CallerConfig{})
		led(t, c)
		rest := pause(t, s) // longer than a caller spins
		rest.echoed(c, 1, []byte("late"))
		until(t, "its own goroutine leads", func() bool { return c.lead.state.Load() == leadOwn })
		rest.echoed(c, 1, []byte("later"))
		rest.resume()
		led(t, c)
		until(t, "nobody calls", func() bool { return c.lead.state.Load() == leadOwn })
		led(t, c)
		s.stop() // noticed although no goroutine calls
		<-c.Done()
	})
}

// TestLeadCancelled: a call that is abandoned while its caller leads, or
// later, frees its slot when its answer comes.
func TestLeadCancelled(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{})
		c := s.dial(t, CallerConfig{MaxInFlight: 2})
		for range 20 {
			led(t, c)
			s.Pause()
			ctx, cancel := context.WithCancel(context.Background())
			before := sent(c)
			ended := make(chan error)
			go func() {
				_, _, err := c.Call(ctx, 1, nil, nil)
				ended <- err
			}()
			until(t, "sent", func() bool { return sent(c) > before })
			cancel()
			if err := <-ended; !errors.Is(err, ErrUnknownOutcome) || !errors.Is(err, context.Canceled) {
				t.Fatalf("cancelled: %v", err)
			}
			s.Resume()
		}
		until(t, "all slots are free", func() bool { return c.free.available() == 2 })
		if n := c.lead.open.Load(); n != 0 {
			t.Errorf("%d calls open, none is made", n)
		}
	})
}

// TestCloseWhileCallerLeads: Close ends all calls, whichever goroutine has the lead, and
// waits for that goroutine.
func TestCloseWhileCallerLeads(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{})
		for i := range 30 {
			c := s.dial(t, CallerConfig{})
			if i%3 > 0 {
				led(t, c)
			}
			var group sync.WaitGroup
			for range i % 4 {
				group.Go(func() {
					for {
						if _, err := callOnce(c, 1, nil); err != nil {
							if !errors.Is(err, ErrClosed) {
								t.Errorf("a call ends with %v", err)
							}
							return
						}
					}
				})
			}
			c.Close()
			group.Wait()
		}
	})
}

// TestLeadChanges: callers that come and go, alone and several at once,
// with short and long answers, all get their answers.
func TestLeadChanges(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{})
		c := s.dial(t, CallerConfig{RingBytes: MinRingBytes, MaxInFlight: 3})
		var group sync.WaitGroup
		for k := range 5 {
			group.Go(func() {
				rng := newRand(uint64(k))
				for n := range 1000 {
					want := fmt.Sprintf("%d.%d.%0*d", k, n, rng.IntN(1500), 0)
					got, err := callOnce(c, 1, []byte(want))
					if err != nil || string(got) != want {
						t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
						return
					}
				}
			})
		}
		group.Wait()
		if n := c.lead.open.Load(); n != 0 || c.free.available() != 3 {
			t.Errorf("%d calls open, %d of 3 slots free", n, c.free.available())
		}
	})
}
