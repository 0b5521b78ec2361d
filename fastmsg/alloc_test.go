//go:build !race

package fastmsg

import "testing"

// TestCallDoesNotAllocate, on either side. AllocsPerRun counts those of
// all goroutines, so the worker and the poller are in it, and the
// provider's.
func TestCallDoesNotAllocate(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{})
		// Few slots: what making a thousand of them allocates must not
		// reach one per call, should it be counted late.
		c := s.dial(t, CallerConfig{MaxInFlight: 4})
		ctx := within(t)
		payload, dst := make([]byte, 40), make([]byte, 0, 100)
		if n := testing.AllocsPerRun(1000, func() {
			if _, _, err := c.Call(ctx, 1, payload, dst); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v allocations per call", n)
		}
	})
}
