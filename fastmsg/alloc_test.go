//go:build !race && !ofi

// Not over ofi, which allocates for each completion.

package fastmsg

import (
	"sync"
	"testing"
)

// allocsPerCall is the least of three counts: they include those of the whole
// process, in which the runtime may start a thread, or a goroutine end late.
func allocsPerCall(call func()) float64 {
	n := testing.AllocsPerRun(1000, call)
	for i := 0; i < 2 && n > 0; i++ {
		n = min(n, testing.AllocsPerRun(1000, call))
	}
	return n
}

// TestCallDoesNotAllocate: neither side allocates. AllocsPerRun counts the
// allocations of all goroutines, so those of the worker, the poller and the
// provider are included.
func TestCallDoesNotAllocate(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{})
		// Few slots, so that the allocations for them, should they be
		// counted late, are less than one per call.
		c := s.dial(t, CallerConfig{MaxInFlight: 4})
		ctx := within(t)
		payload, dst := make([]byte, 40), make([]byte, 0, 100)
		if n := allocsPerCall(func() {
			if _, _, err := c.Call(ctx, 1, payload, dst); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v allocations per call", n)
		}
	})
}

// TestBatchDoesNotAllocate: nor do requests to a BatchHandler allocate, one by
// one or in batches.
func TestBatchDoesNotAllocate(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		together := 0
		s := serve(t, p, batchFuncs{handlerFuncs{serve: echo}, func(reqs []Request) int {
			together += len(reqs)
			return echoAll(reqs)
		}}, WorkerConfig{})
		c := s.dial(t, CallerConfig{MaxInFlight: 4})
		ctx := within(t)
		payload, dst := make([]byte, 40), make([]byte, 0, 100)
		call := func(dst []byte) {
			if _, _, err := c.Call(ctx, 1, payload, dst); err != nil {
				t.Error(err)
			}
		}
		if n := allocsPerCall(func() { call(dst) }); n != 0 {
			t.Errorf("%v allocations per lone call", n)
		}
		// The other callers call for as long as the measured one does.
		const callers = 4
		var group sync.WaitGroup
		more := make(chan struct{}, callers)
		for range callers - 1 {
			group.Go(func() {
				dst := make([]byte, 0, 100)
				for range more {
					call(dst)
				}
			})
		}
		n := testing.AllocsPerRun(2000, func() {
			for range callers - 1 {
				more <- struct{}{}
			}
			call(dst)
		})
		close(more)
		group.Wait()
		s.stop()
		if n != 0 || together == 0 {
			t.Errorf("%v allocations per round, %d requests in batches", n, together)
		}
	})
}

// TestLaterDoesNotAllocate: nor do answers from another goroutine, at most
// keepAnswer long.
func TestLaterDoesNotAllocate(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		answer := make(chan Later, 16)
		s := serve(t, p, handlerFuncs{serve: func(c *Conn, m Message) {
			l, err := c.Later(m.ID, 0)
			if err != nil {
				c.Fail(err)
			}
			answer <- l
		}}, WorkerConfig{})
		ended, bytes := make(chan struct{}), make([]byte, keepAnswer)
		go func() {
			defer close(ended)
			for l := range answer {
				l.Respond(1, bytes)
			}
		}()
		c := s.dial(t, CallerConfig{MaxInFlight: 4})
		ctx := within(t)
		payload, dst := make([]byte, 40), make([]byte, 0, keepAnswer)
		if n := allocsPerCall(func() {
			if _, _, err := c.Call(ctx, 1, payload, dst); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v allocations per call", n)
		}
		s.stop()
		close(answer)
		<-ended
	})
}

// TestSlotsCostNothingUnused: a client allocates nothing for a call that it may
// have in flight but never makes.
func TestSlotsCostNothingUnused(t *testing.T) {
	const slots = 4096
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{})
		n := testing.AllocsPerRun(3, func() { s.dial(t, CallerConfig{MaxInFlight: slots}).Close() })
		if n >= slots {
			t.Errorf("%v allocations for a client with %d slots", n, slots)
		}
	})
}
