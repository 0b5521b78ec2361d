package attack

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A flood keeps its rate, and does not make up for a time in which it was
// stopped.
func TestPacer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, begun := newPacer(1000), time.Now()
		for range 5000 {
			p.wait(t.Context())
		}
		if d := time.Since(begun); d < 4900*time.Millisecond || d > 5100*time.Millisecond {
			t.Errorf("5000 at 1000 a second took %v", d)
		}
		time.Sleep(time.Minute) // of the fake clock
		begun = time.Now()
		for range 1000 {
			p.wait(t.Context())
		}
		if d := time.Since(begun); d < 900*time.Millisecond {
			t.Errorf("1000 at 1000 a second took %v after a pause", d)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begun = time.Now()
		p.next = begun.Add(time.Hour)
		p.wait(ctx)
		if time.Since(begun) != 0 {
			t.Error("waits although it is over")
		}
	})
	if n := floods([]Attack{silentStreams, trickle, resets}); n != 2 {
		t.Errorf("%d floods, want 2", n)
	}
}
